-- Named workflows: settings, the shards that serve them, and what watches know.

create table named (
  graph_id text {bytes_order} not null,
  name text {bytes_order} not null,
  workflow_type text {bytes_order} not null,
  version text {bytes_order} not null,
  kind text not null,                 -- of the main trigger
  trigger_id text not null,
  settings bytea not null,
  review_id text,
  review_of text {bytes_order},
  shards bigint not null,
  route_by text {bytes_order},
  window_messages bigint not null,
  batch bigint not null,
  owns bytea not null,
  fan_in text,
  on_exhausted text not null,
  budget_micro_usd bigint,
  created_at_ms bigint not null,
  updated_at_ms bigint not null,
  paused_at_ms bigint,
  sent_messages bigint not null,
  last_error bytea,
  last_error_at_ms bigint,
  primary key (graph_id, name)
) {clustered};
create index named_review on named (graph_id, review_of) where review_of is not null;

-- Stays when its workflow is deleted: a message id must never come twice.
create table named_shard (
  graph_id text {bytes_order} not null,
  name text {bytes_order} not null,
  shard bigint not null,
  next_message bigint not null,
  window_full_since_ms bigint,
  primary key (graph_id, name, shard)
) {clustered};

-- Messages of triggers whose turns were unfinished when last looked at: at most a window for each shard.
create table named_flight (
  graph_id text {bytes_order} not null,
  instance_id text {bytes_order} not null,
  turn bigint not null,
  message_id bytea not null,
  sent_at_ms bigint not null,
  primary key (graph_id, instance_id, turn)
) {clustered};

create table watch (
  graph_id text {bytes_order} not null,
  name text {bytes_order} not null,
  queue_id text {bytes_order} not null,
  through_seq bigint not null,
  part_seq bigint,
  part_id text {bytes_order},
  schema text not null,
  ontology_version bigint not null,
  pass_reason text,
  pass_target_seq bigint,
  pass_cursor text {bytes_order},
  pass_scanned bigint not null,
  pass_origin bytea,
  instances bigint not null,
  removed bigint not null,
  requeued bigint not null,
  exhausted bigint not null,
  primary key (graph_id, name)
) {clustered};

-- What waits for a message, each instance once.
create table watch_item (
  graph_id text {bytes_order} not null,
  queue_id text {bytes_order} not null,
  entity_id text {bytes_order} not null,
  shard bigint not null,
  due_at_ms bigint not null,
  first_seq bigint not null,
  last_seq bigint not null,
  removed bigint not null,
  reason text not null,
  attempt bigint not null,
  origin bytea not null,
  fields bytea not null,
  primary key (graph_id, queue_id, entity_id)
) {clustered};
create index watch_item_due on watch_item (graph_id, queue_id, shard, due_at_ms, first_seq, entity_id);

-- Records whose change wakes the instances that lead to them.
create table watch_link (
  graph_id text {bytes_order} not null,
  queue_id text {bytes_order} not null,
  target_id text {bytes_order} not null,
  relation_id text {bytes_order} not null,
  first_seq bigint not null,
  last_seq bigint not null,
  fields bytea not null,
  after text {bytes_order} not null,
  primary key (graph_id, queue_id, target_id, relation_id)
) {clustered};

-- Instances that a turn gave back, with what was answered.
create table watch_given (
  graph_id text {bytes_order} not null,
  instance_id text {bytes_order} not null,
  turn bigint not null,
  entity_id text {bytes_order} not null,
  attempt bigint not null,
  not_before_ms bigint,
  primary key (graph_id, instance_id, turn, entity_id)
) {clustered};

-- Queues of deleted or changed watches, whose rows go in pieces.
create table watch_old_queue (
  graph_id text {bytes_order} not null,
  queue_id text {bytes_order} not null,
  primary key (graph_id, queue_id)
) {clustered};

-- Runs of a named workflow over all its shards.
create index run_of_workflow on run (graph_id, workflow, run_id);
