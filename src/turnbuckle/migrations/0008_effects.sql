-- The effect ledger: what steps do outside. A row is there before the effect is, so that a crash leaves a trace.

create table effect (
  graph_id text {bytes_order} not null,
  instance_id text {bytes_order} not null,
  turn bigint not null,
  number text {bytes_order} not null,
  step text not null,
  effect_id text not null,
  kind text not null,
  target bytea not null,
  attempt bigint not null,
  began_at_ms bigint not null,
  attempts bigint not null,
  intended_at_ms bigint not null,
  confirmed_at_ms bigint,
  primary key (graph_id, instance_id, turn, number)
) {clustered};
-- Those nobody has confirmed: what a person looks through after a crash.
create index effect_open on effect (graph_id, instance_id, turn, number) where confirmed_at_ms is null;
