-- Schedules of scheduler blobs, and what came of each time they fired (blobhub 7.1).

create table hub_schedule (
  graph_id text {bytes_order} not null,
  schedule_id text {bytes_order} not null,
  revision_id text {bytes_order} not null, -- of the scheduler blob
  number bigint not null,                  -- orders the schedules of a revision
  alias text {bytes_order},
  fields bytea not null,                   -- what the caller set, with its target as it was resolved
  owner bytea not null,                    -- who set its target: it fires with what they may do
  state text not null,                     -- active or completed
  due_at_us bigint,                        -- null when it does not fire any more, or is not enabled
  fires bigint not null,                   -- so far: the number of the newest
  created_at_us bigint not null,
  updated_at_us bigint not null,
  primary key (graph_id, schedule_id)
) {clustered};
create unique index hub_schedule_number on hub_schedule (graph_id, revision_id, number);
create unique index hub_schedule_alias on hub_schedule (graph_id, revision_id, alias) where alias is not null;
create index hub_schedule_due on hub_schedule (due_at_us) where due_at_us is not null;

create table hub_schedule_fire (
  graph_id text {bytes_order} not null,
  schedule_id text {bytes_order} not null,
  number bigint not null,
  fire_id text {bytes_order} not null,
  target bytea not null,
  status text not null,                    -- success, access_error or invocation_error
  result bytea not null,
  created_at_us bigint not null,
  primary key (graph_id, schedule_id, number)
) {clustered};
create unique index hub_schedule_fire_id on hub_schedule_fire (graph_id, schedule_id, fire_id);
create index hub_schedule_fire_old on hub_schedule_fire (created_at_us);
