-- Questions to persons, their answers, and who waits for them (lbb-graph 4). Users' texts and JSON are UTF-8 bytes.

create table review (
  graph_id text {bytes_order} not null,
  review_id text {bytes_order} not null,
  key bytea not null,
  kind text not null,                 -- value, choice, grade or answer
  scope text not null,                -- live or test
  status text {bytes_order} not null, -- open, answered or withdrawn
  revision bigint not null,
  title bytea not null,
  question bytea not null,
  question_hash bytea not null,
  proposal_hash bytea not null,
  origin bytea not null,
  created_at_ms bigint not null,
  updated_at_ms bigint not null,
  subject bytea,
  evidence bytea,
  evidence_hash bytea,
  rationale bytea,
  facts bytea,
  workflow bytea,
  wait bytea,
  eval bytea,
  answer bytea,
  decision text,
  previous_answer bytea,
  withdrawn_reason bytea,
  comment_count bigint not null,
  origin_id bytea,
  workflow_name bytea,                -- who asks, by its own name or by that of its starter
  run bytea,
  eval_id bytea,
  subject_type bytea,
  property bytea,
  write text not null,                -- none, pending, written or refused
  commit_key text,
  commit_seq bigint,
  commit_error bytea,
  commit_attempts bigint not null,
  no_op bigint,
  delivery text not null,             -- none, pending, sent or dropped
  delivery_attempts bigint not null,
  delivery_error bytea,
  told bytea,                         -- JSON: who was told so far
  due_at_ms bigint,                   -- when upkeep does what is pending
  primary key (graph_id, review_id)
);
create unique index review_by_key on review (graph_id, key);
create index review_updated on review (graph_id, updated_at_ms, review_id);
create index review_updated_of_status on review (graph_id, status, updated_at_ms, review_id);
create index review_updated_of_workflow on review (graph_id, workflow_name, updated_at_ms, review_id)
  where workflow_name is not null;
create index review_due on review (due_at_ms) where due_at_ms is not null;

-- Turns that wait for an answer.
create table review_waiter (
  graph_id text {bytes_order} not null,
  review_id text {bytes_order} not null,
  instance_id text {bytes_order} not null,
  turn bigint not null,
  signal text not null,
  asked_at_ms bigint not null,
  outcome text not null,              -- waiting, sent or dropped
  error bytea,
  primary key (graph_id, review_id, instance_id, turn)
) {clustered};

create table review_comment (
  graph_id text {bytes_order} not null,
  review_id text {bytes_order} not null,
  number bigint not null,
  text bytea not null,
  author bytea,
  by_whom bytea not null,
  at_ms bigint not null,
  primary key (graph_id, review_id, number)
);

-- Idempotency keys of what people sent: the same request again is an answer, another one a conflict.
create table review_request (
  graph_id text {bytes_order} not null,
  idempotency_key bytea not null,
  request_hash bytea not null,
  answer bytea,                       -- of a batch; of one item it is the item as it is now
  at_ms bigint not null,
  primary key (graph_id, idempotency_key)
);
