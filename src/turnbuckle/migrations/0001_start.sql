-- The first schema, one text for both databases. Forward only: a later change is a new file.
-- Times are integer milliseconds. JSON and users' texts are UTF-8 bytes; only ids of a fixed alphabet are text.
-- Every key starts with graph_id, but for the global tables: environment, api_key, graph.

create table environment (
  name text {bytes_order} primary key,
  created_at_ms bigint not null
);

create table api_key (
  key_hash bytea primary key,
  label bytea not null,
  hint text not null,                 -- the key's last four characters, for a person to tell keys apart
  environment text {bytes_order} not null references environment (name),
  scope text not null,                -- user, org, blob or runtime
  role text not null,                 -- admin, write, read or review
  created_at_ms bigint not null,
  revoked_at_ms bigint
);

create table graph (
  graph_id text {bytes_order} primary key,
  environment text {bytes_order} not null references environment (name),
  name text {bytes_order} not null,
  created_at_ms bigint not null,
  unique (environment, name)
);

create table instance (
  graph_id text {bytes_order} not null,
  instance_id text {bytes_order} not null,
  incarnation text not null,
  workflow_type text {bytes_order} not null,
  version text {bytes_order} not null,
  on_exhausted text not null,
  lease_ms bigint not null,
  max_attempts bigint not null,
  request_hash bytea not null,
  created_at_ms bigint not null,
  updated_at_ms bigint not null,
  paused_at_ms bigint,
  head bigint,
  last_turn bigint not null,
  state_turn bigint not null,
  pending bigint not null,
  completed bigint not null,
  pruned_through bigint not null,
  sequence bigint not null,
  claimable_at_ms bigint,
  due_at_ms bigint,
  prune_at_ms bigint,
  primary key (graph_id, instance_id)
) {clustered};

-- Claims: the oldest claimable instance of a pair. Settled, paused and blocked ones are not in it.
create index instance_claimable on instance (graph_id, workflow_type, version, claimable_at_ms, instance_id)
  where claimable_at_ms is not null;
-- Upkeep: attempts that end by themselves.
create index instance_due on instance (due_at_ms) where due_at_ms is not null;
create index instance_prune on instance (prune_at_ms) where prune_at_ms is not null;
create index instance_type on instance (graph_id, workflow_type, instance_id);

create table state (
  graph_id text {bytes_order} not null,
  instance_id text {bytes_order} not null,
  turn bigint not null,               -- the turn that completed with it; 0 is the initial state
  value bytea not null,
  primary key (graph_id, instance_id, turn)
) {clustered};

create table message (
  graph_id text {bytes_order} not null,
  instance_id text {bytes_order} not null,
  number bigint not null,
  message_id bytea not null,
  body_hash bytea not null,
  body bytea,                         -- null once pruned: the id stays known
  body_bytes bigint not null,
  received_at_ms bigint not null,
  primary key (graph_id, instance_id, number)
) {clustered};
create unique index message_by_id on message (graph_id, instance_id, message_id);

create table turn (
  graph_id text {bytes_order} not null,
  instance_id text {bytes_order} not null,
  number bigint not null,
  status text not null,
  ready_at_ms bigint not null,
  created_at_ms bigint not null,
  updated_at_ms bigint not null,
  origin bytea,
  attempt bigint not null,
  next_attempt bigint not null,
  failures bigint not null,
  sequence bigint not null,
  step_count bigint not null,
  signal_count bigint not null,
  worker bytea,
  token_hash bytea,
  lease_until_ms bigint,
  wait_since_ms bigint,
  error bytea,
  run_id text,
  run_started_at_ms bigint,
  run_ended_at_ms bigint,
  queue_before bigint,
  queue_after bigint,
  phases bytea,
  usage bytea,
  finished_at_ms bigint,
  completion bytea,
  result bytea,
  continued_to bigint,
  primary key (graph_id, instance_id, number)
) {clustered};

create table operation (
  graph_id text {bytes_order} not null,
  instance_id text {bytes_order} not null,
  turn bigint not null,
  position bigint not null,
  key text not null,
  kind text not null,
  attempt bigint not null,
  token_hash bytea not null,
  started_at_ms bigint not null,
  timeout_ms bigint not null,
  heartbeat_timeout_ms bigint,
  last_heartbeat_ms bigint not null,
  sequence bigint not null,
  changes bigint not null,
  details bytea not null,
  cursor bytea not null,
  progress bytea,
  progress_at_ms bigint,
  primary key (graph_id, instance_id, turn)
) {clustered};

create table step (
  graph_id text {bytes_order} not null,
  instance_id text {bytes_order} not null,
  turn bigint not null,
  position bigint not null,
  key text {bytes_order} not null,
  kind text not null,
  output bytea not null,
  output_hash bytea not null,
  at_ms bigint not null,
  delay_ms bigint,
  signal_name text,
  wake_at_ms bigint,
  primary key (graph_id, instance_id, turn, position)
) {clustered};

create table signal (
  graph_id text {bytes_order} not null,
  instance_id text {bytes_order} not null,
  turn bigint not null,
  event_id bytea not null,
  arrival bigint not null,
  name text not null,
  value bytea not null,
  value_hash bytea not null,
  at_ms bigint not null,
  consumed_by text,
  primary key (graph_id, instance_id, turn, event_id)
);

create table run (
  graph_id text {bytes_order} not null,
  instance_id text {bytes_order} not null,
  turn bigint not null,
  run_id text {bytes_order} not null,
  workflow text {bytes_order} not null,
  workflow_type text not null,
  version text not null,
  attempt bigint not null,
  started_at_ms bigint not null,
  ended_at_ms bigint not null,
  outcome text not null,
  error bytea,
  queue_before bigint not null,
  queue_after bigint not null,
  steps bytea not null,
  phases bytea not null,
  origin bytea,
  counters bytea,
  sample bytea,
  units bigint,
  unit text,
  usage bytea,
  results bytea,
  primary key (graph_id, instance_id, run_id)
) {clustered};
create index run_ended on run (ended_at_ms);

create table blob (
  graph_id text {bytes_order} not null,
  key text {bytes_order} not null,
  sha256 text not null,
  bytes bytea not null,
  written_at_ms bigint not null,
  unused_since_ms bigint,             -- first sweep that found no mention of it; a second one removes it
  primary key (graph_id, key)
);
create index blob_written on blob (written_at_ms);

-- One row: the latest time this store has given, so that its clock never goes back over a restart.
create table clock (
  now_ms bigint not null
);
insert into clock (now_ms) values (0);
