-- The second API: organizations, blobs with their revisions, definitions, sessions and executions.
-- Every row belongs to the reserved graph `hub` of its environment. Times are integer microseconds, as its API shows
-- them: `_us`. Texts that users choose freely are UTF-8 bytes; aliases and ids have a fixed alphabet.

-- The organization or blob of a key of that scope.
alter table api_key add column scope_id text;

create table hub_org (
  graph_id text {bytes_order} not null,
  org_id text {bytes_order} not null,
  alias text {bytes_order} not null,
  created_at_us bigint not null,
  primary key (graph_id, org_id)
) {clustered};
create unique index hub_org_alias on hub_org (graph_id, alias);

create table hub_blob (
  graph_id text {bytes_order} not null,
  blob_id text {bytes_order} not null,
  org_id text {bytes_order} not null,
  alias text {bytes_order} not null,
  type text {bytes_order} not null,
  visibility text not null,           -- public or private
  status text not null,
  default_revision_id text {bytes_order},
  revisions bigint not null,          -- made so far: the number of the newest
  limits bytea not null,              -- what differs from the settings of the server
  created_at_us bigint not null,
  updated_at_us bigint not null,
  primary key (graph_id, blob_id)
) {clustered};
create unique index hub_blob_alias on hub_blob (graph_id, org_id, alias);

create table hub_revision (
  graph_id text {bytes_order} not null,
  revision_id text {bytes_order} not null,
  blob_id text {bytes_order} not null,
  number bigint not null,             -- 1, 2, 3 ... in its blob
  phase text not null,
  status text not null,
  comment bytea,
  parent_id text {bytes_order},
  failed_operation text,
  workflows bigint not null,          -- how many definitions of each category, and sessions, it holds
  playgrounds bigint not null,
  sessions bigint not null,
  created_at_us bigint not null,
  updated_at_us bigint not null,
  primary key (graph_id, revision_id)
) {clustered};
create unique index hub_revision_number on hub_revision (graph_id, blob_id, number);

-- A job on a revision that a client may follow: a commit, for example.
create table hub_operation (
  graph_id text {bytes_order} not null,
  operation_id text {bytes_order} not null,
  revision_id text {bytes_order} not null,
  type text not null,
  status text not null,
  created_at_us bigint not null,
  updated_at_us bigint not null,
  primary key (graph_id, operation_id)
) {clustered};
create index hub_operation_revision on hub_operation (graph_id, revision_id);

create table hub_definition (
  graph_id text {bytes_order} not null,
  definition_id text {bytes_order} not null,
  revision_id text {bytes_order} not null,
  category text {bytes_order} not null,
  alias text {bytes_order} not null,
  layout bytea,                       -- of a playground
  sha256 text {bytes_order} not null, -- of its document
  created_at_us bigint not null,
  updated_at_us bigint not null,
  primary key (graph_id, definition_id)
) {clustered};
create unique index hub_definition_alias on hub_definition (graph_id, revision_id, category, alias);
create index hub_definition_document on hub_definition (graph_id, sha256);

-- Documents by the SHA-256 of their bytes, exactly as they were uploaded; revisions and executions share them.
create table hub_document (
  graph_id text {bytes_order} not null,
  sha256 text {bytes_order} not null,
  bytes bytea not null,
  written_at_us bigint not null,
  primary key (graph_id, sha256)
);

create table hub_session (
  graph_id text {bytes_order} not null,
  session_id text {bytes_order} not null,
  revision_id text {bytes_order} not null,
  alias text {bytes_order},
  description bytea,
  status text not null,
  user_id text not null,
  executions bigint not null,         -- held: they count until they are removed
  last_at_us bigint not null,         -- of its newest event, item or element: its times never fall
  sequence bigint not null,           -- orders what has the same time
  created_at_us bigint not null,
  updated_at_us bigint not null,
  primary key (graph_id, session_id)
) {clustered};
create unique index hub_session_alias on hub_session (graph_id, revision_id, alias) where alias is not null;
create index hub_session_of_revision on hub_session (graph_id, revision_id, created_at_us, session_id);
create index hub_session_unsettled on hub_session (status) where status in ('closing', 'deleting', 'deleted');
create index hub_session_nameless on hub_session (updated_at_us) where alias is null;

create table hub_execution (
  graph_id text {bytes_order} not null,
  execution_id text {bytes_order} not null,
  session_id text {bytes_order} not null,
  revision_id text {bytes_order} not null,
  number bigint not null,             -- orders the executions of a session
  definition_id text {bytes_order} not null,
  definition_alias text {bytes_order} not null,
  source bytea not null,              -- organization, blob and revision that its definition lives on
  workflow bytea not null,            -- the reference as it came
  input_data bytea not null,
  sha256 text {bytes_order},          -- of the document, from its start on
  user_id text not null,
  trigger_by bytea not null,
  settings bytea not null,            -- pause_before, dry_run, pins: what a debugger asked for
  parent_id text {bytes_order},       -- the execution that started it
  depth bigint not null,
  status text not null,
  stop_by_us bigint,                  -- once it was told to stop: when its turn is cancelled
  stop_reason text,
  error bytea,
  last_at_us bigint not null,         -- of its newest event: its times never fall
  events bigint not null,
  created_at_us bigint not null,
  updated_at_us bigint not null,
  started_at_us bigint,
  ended_at_us bigint,
  is_told bigint not null,            -- whether those who wait for its end were told
  primary key (graph_id, execution_id)
) {clustered};
create unique index hub_execution_number on hub_execution (graph_id, session_id, number);
create index hub_execution_open on hub_execution (graph_id, session_id, number) where ended_at_us is null;
create index hub_execution_child on hub_execution (graph_id, parent_id) where parent_id is not null;
create index hub_execution_stopping on hub_execution (stop_by_us) where stop_by_us is not null and ended_at_us is null;
create index hub_execution_untold on hub_execution (ended_at_us) where ended_at_us is not null and is_told = 0;
create index hub_execution_document on hub_execution (graph_id, sha256);

create table hub_event (
  graph_id text {bytes_order} not null,
  execution_id text {bytes_order} not null,
  created_at_us bigint not null,
  sequence bigint not null,
  event_id text {bytes_order} not null,
  type text not null,
  message bytea,
  attributes bytea,
  data_id text,
  primary key (graph_id, execution_id, created_at_us, sequence)
) {clustered};
-- A step that is begun by a second attempt tells its events again, under the same ids.
create unique index hub_event_id on hub_event (graph_id, execution_id, event_id);

-- What a component took and gave, and what code kept for readers.
create table hub_data (
  graph_id text {bytes_order} not null,
  execution_id text {bytes_order} not null,
  sequence bigint not null,
  data_id text {bytes_order} not null,
  component_id bytea,
  component_key bytea,                -- of one run of the component: it may run many times
  value bytea not null,
  created_at_us bigint not null,
  primary key (graph_id, execution_id, sequence)
);
create unique index hub_data_id on hub_data (graph_id, execution_id, data_id);

-- Turns of executions that wait for something of the hub: the end of a child, an item in a thread.
create table hub_wait (
  graph_id text {bytes_order} not null,
  topic text {bytes_order} not null,  -- `execution/ID` or `thread/SESSION/ALIAS`
  instance_id text {bytes_order} not null,
  turn bigint not null,
  signal text {bytes_order} not null,
  not_by text,                        -- an author whose items it does not wait for
  primary key (graph_id, topic, instance_id, turn, signal)
) {clustered};

create table hub_session_event (
  graph_id text {bytes_order} not null,
  session_id text {bytes_order} not null,
  created_at_us bigint not null,
  sequence bigint not null,
  event_id text {bytes_order} not null,
  type text not null,
  body bytea not null,                -- the keys that its type adds
  primary key (graph_id, session_id, created_at_us, sequence)
) {clustered};

-- Tokens of callers without a key. A global table: whoever shows one is found by it alone.
create table anonymous_token (
  token_hash bytea primary key,
  kind text not null,                 -- access or refresh
  environment text {bytes_order} not null,
  user_id text not null,
  expires_at_ms bigint not null
);
create index anonymous_token_expired on anonymous_token (expires_at_ms);
