-- Model activities: answers kept under their effect ids, the log of calls, money spent and its limits.

create table activity (
  graph_id text {bytes_order} not null,
  job text {bytes_order} not null,        -- reason, decide or embed
  effect_id text {bytes_order} not null,
  request_hash bytea not null,
  holder text not null,                   -- of the call on its way, or of the one that answered
  lease_until_ms bigint not null,         -- of the call on its way
  begun_at_ms bigint not null,
  calls bigint not null,                  -- how often it was begun: more than once when a server died in between
  instance_id text {bytes_order},
  turn bigint,
  answered_at_ms bigint,
  answer bytea,                           -- null while the call is on its way
  keep_until_ms bigint not null,
  primary key (graph_id, job, effect_id)
);
create index activity_keep on activity (keep_until_ms);

create table call (
  graph_id text {bytes_order} not null,
  id text {bytes_order} not null,
  at_ms bigint not null,
  job text not null,
  provider text not null,
  model bytea not null,
  error bytea,                            -- null when it was answered
  summary bytea not null,
  is_test bigint not null,
  workflow text,                          -- the named workflow that was charged
  instance_id text,
  turn bigint,
  run_id bytea,
  step text,
  instance bytea,
  tokens_in bigint not null,
  tokens_out bigint not null,
  cost_micro_usd bigint not null,
  ms bigint not null,
  input bytea not null,
  output bytea not null,
  truncated bigint not null,
  primary key (graph_id, id)
);
create index call_at on call (at_ms);

-- Spent in a UTC month, by named workflow.
create table spend (
  graph_id text {bytes_order} not null,
  workflow text {bytes_order} not null,
  month text {bytes_order} not null,      -- 2027-01
  micro_usd bigint not null,
  primary key (graph_id, workflow, month)
);

-- Spent in a UTC month, in all graphs: it stays when a graph goes, or removing graphs would refill the purse.
create table environment_spend (
  environment text {bytes_order} not null references environment (name),
  month text {bytes_order} not null,
  micro_usd bigint not null,
  primary key (environment, month)
);

-- What a named workflow may spend in a month; a workflow without a row has no limit of its own.
create table budget (
  graph_id text {bytes_order} not null,
  workflow text {bytes_order} not null,
  micro_usd_per_month bigint not null,
  primary key (graph_id, workflow)
);
