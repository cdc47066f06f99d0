-- RDF-native graphs: statements as they were read, each valid in a range of commits as a record's rows are.

create table quad (
  graph_id text {bytes_order} not null,
  quad_id text {bytes_order} not null, -- 32 hex digits, a hash of its text
  from_seq bigint not null,
  to_seq bigint,
  text bytea not null,                -- `<s> <p> <o>` or `<s> <p> <o> <g>`, as N-Quads has it, without the dot
  primary key (graph_id, quad_id, from_seq)
) {clustered};
create index quad_began on quad (graph_id, from_seq);
create index quad_ended on quad (graph_id, to_seq) where to_seq is not null;

-- How far each import is, by its idempotency key; the answer once it is done.
create table rdf_import (
  graph_id text {bytes_order} not null,
  key bytea not null,
  body_hash bytea not null,
  at_ms bigint not null,
  batches bigint not null,            -- that were written
  is_done bigint not null,
  answer bytea not null,              -- JSON, as far as it is known
  primary key (graph_id, key)
) {clustered};
