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
