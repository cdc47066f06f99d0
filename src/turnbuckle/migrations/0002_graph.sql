-- Graphs: an ontology, records with fields and edges, and the commits that made them.
-- What a commit writes is valid from its number up to, not including, the number that ended it; null is "still".
-- A class, property or relation is stored by its term: the name it was declared with, which no rename changes.

alter table graph add column head_seq bigint not null default 0;
alter table graph add column kind text not null default '';
alter table graph add column ontology_version bigint not null default 0;

-- Graphs whose rows are being removed, a piece at a time. A request that was late may still have added some.
create table deleted_graph (
  graph_id text {bytes_order} primary key,
  deleted_at_ms bigint not null
);

create table ontology (
  graph_id text {bytes_order} not null,
  version bigint not null,
  made_at_ms bigint not null,
  document bytea not null,
  primary key (graph_id, version)
);

create table graph_commit (
  graph_id text {bytes_order} not null,
  commit_seq bigint not null,
  at_ms bigint not null,
  observed_at_ms bigint,              -- when its facts were seen, if that was earlier
  made_by bytea not null,
  workflow_id text {bytes_order},     -- of the turn whose fence it carried
  turn bigint,
  ontology_version bigint not null,
  primary key (graph_id, commit_seq)
) {clustered};

-- The first answer under each idempotency key, for ever.
create table commit_key (
  graph_id text {bytes_order} not null,
  key bytea not null,
  body_hash bytea not null,
  at_ms bigint not null,
  commit_seq bigint not null,
  graph_created bigint not null,
  no_op bigint not null,
  entities_written bigint not null,
  edges_written bigint not null,
  primary key (graph_id, key)
) {clustered};

-- A record's class, key and display name; a record that was removed has no row that is still valid.
create table entity (
  graph_id text {bytes_order} not null,
  entity_id text {bytes_order} not null,
  from_seq bigint not null,
  to_seq bigint,
  class_id text {bytes_order} not null,
  key bytea,
  name bytea not null,
  primary key (graph_id, entity_id, from_seq)
);
create index entity_began on entity (graph_id, from_seq);
create index entity_ended on entity (graph_id, to_seq) where to_seq is not null;
create index entity_of_class on entity (graph_id, class_id, to_seq, entity_id);

create table fact (
  graph_id text {bytes_order} not null,
  entity_id text {bytes_order} not null,
  property_id text {bytes_order} not null,
  from_seq bigint not null,
  to_seq bigint,
  value bytea not null,
  primary key (graph_id, entity_id, property_id, from_seq)
) {clustered};
create index fact_began on fact (graph_id, from_seq);
create index fact_ended on fact (graph_id, to_seq) where to_seq is not null;

create table edge (
  graph_id text {bytes_order} not null,
  from_seq bigint not null,
  position bigint not null,           -- in its commit
  to_seq bigint,
  source_id text {bytes_order} not null,
  relation_id text {bytes_order} not null,
  target_id text {bytes_order} not null,
  confidence double precision,
  evidence bytea,
  properties bytea,
  valid_time bytea,
  primary key (graph_id, from_seq, position)
);
create index edge_out on edge (graph_id, source_id, relation_id, target_id);
create index edge_in on edge (graph_id, target_id, relation_id, source_id);
create index edge_ended on edge (graph_id, to_seq) where to_seq is not null;

-- What each commit changed, for whoever watches.
create table change (
  graph_id text {bytes_order} not null,
  commit_seq bigint not null,
  entity_id text {bytes_order} not null,
  class_id text not null,
  kind text not null,
  fields bytea not null,
  primary key (graph_id, commit_seq, entity_id)
) {clustered};
