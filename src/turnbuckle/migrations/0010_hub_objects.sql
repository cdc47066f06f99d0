-- What sessions of the second API hold: objects and files, items of threads, elements of graphs.

create table hub_object (
  graph_id text {bytes_order} not null,
  session_id text {bytes_order} not null,
  alias text {bytes_order} not null,
  type text not null,
  value bytea not null,
  file bytea,
  updated_at_us bigint not null,
  primary key (graph_id, session_id, alias)
);

create table hub_thread_item (
  graph_id text {bytes_order} not null,
  session_id text {bytes_order} not null,
  alias text {bytes_order} not null,
  created_at_us bigint not null,
  sequence bigint not null,
  item_id text {bytes_order} not null,
  user_id text not null,
  content bytea not null,
  parent_id bytea,
  metadata bytea,
  primary key (graph_id, session_id, alias, created_at_us, sequence)
);
create unique index hub_thread_item_id on hub_thread_item (graph_id, session_id, alias, item_id);

create table hub_graph_element (
  graph_id text {bytes_order} not null,
  session_id text {bytes_order} not null,
  alias text {bytes_order} not null,
  element_id text {bytes_order} not null,
  type text not null,                 -- vertex or edge
  labels bytea not null,
  from_id text {bytes_order},
  to_id text {bytes_order},
  props bytea not null,
  rev bigint not null,
  user_id text not null,
  created_at_us bigint not null,
  created_sequence bigint not null,
  updated_at_us bigint not null,
  updated_sequence bigint not null,
  primary key (graph_id, session_id, alias, element_id)
);
create index hub_graph_element_created
  on hub_graph_element (graph_id, session_id, alias, created_at_us, created_sequence);
create index hub_graph_element_updated
  on hub_graph_element (graph_id, session_id, alias, updated_at_us, updated_sequence);
create index hub_graph_element_from on hub_graph_element (graph_id, session_id, alias, from_id, element_id)
  where from_id is not null;
create index hub_graph_element_to on hub_graph_element (graph_id, session_id, alias, to_id, element_id)
  where to_id is not null;
