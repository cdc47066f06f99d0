-- Triggers that time or the outside sets off: schedules and streams of events.

create table schedule (
  graph_id text {bytes_order} not null,
  name text {bytes_order} not null,
  handled_ms bigint not null,         -- slots up to here were told or passed over
  due_at_ms bigint not null,
  through_seq bigint not null,
  told_ms bigint,
  is_asked bigint not null,
  asked_by bytea,
  missed bigint not null,
  primary key (graph_id, name)
) {clustered};
create index schedule_due on schedule (due_at_ms);

create table stream (
  graph_id text {bytes_order} not null,
  name text {bytes_order} not null,
  queue_id text {bytes_order} not null, -- new when the workflow is made again, so that the old rows can go in pieces
  next_number bigint not null,
  pending bigint not null,
  sent bigint not null,
  duplicates bigint not null,
  primary key (graph_id, name)
) {clustered};

-- Events by id. One that was sent has no body, and stays as long as its id is told apart.
create table stream_event (
  graph_id text {bytes_order} not null,
  queue_id text {bytes_order} not null,
  event_id bytea not null,
  shard bigint not null,
  number bigint not null,
  body bytea,
  body_bytes bigint not null,
  received_at_ms bigint not null,
  sent_at_ms bigint,
  primary key (graph_id, queue_id, event_id)
) {clustered};
create index stream_event_waiting on stream_event (graph_id, queue_id, shard, number) where sent_at_ms is null;
create index stream_event_received on stream_event (graph_id, queue_id, received_at_ms);
