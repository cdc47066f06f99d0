-- doctor_graph_values
-- Fields of a record that is not there.
select count(*) from graph join fact on fact.graph_id = graph.graph_id
where fact.to_seq is null and not exists (
  select 1 from entity
  where entity.graph_id = fact.graph_id and entity.entity_id = fact.entity_id and entity.to_seq is null
)

-- doctor_graph_links
-- Links from or to a record that is not there.
select count(*) from graph join edge on edge.graph_id = graph.graph_id
where edge.to_seq is null and (not exists (
  select 1 from entity
  where entity.graph_id = edge.graph_id and entity.entity_id = edge.source_id and entity.to_seq is null
) or not exists (
  select 1 from entity
  where entity.graph_id = edge.graph_id and entity.entity_id = edge.target_id and entity.to_seq is null
))

-- doctor_graph_records_twice
-- Records that have two names at once.
select count(*) from (
  select 1 from entity where to_seq is null group by graph_id, entity_id having count(*) > 1
) twice

-- doctor_graph_values_twice
-- Fields that have two values at once.
select count(*) from (
  select 1 from fact where to_seq is null group by graph_id, entity_id, property_id having count(*) > 1
) twice

-- doctor_graph_spans
-- Rows that ended before they began.
select (select count(*) from entity where to_seq <= from_seq)
+ (select count(*) from fact where to_seq <= from_seq)
+ (select count(*) from edge where to_seq <= from_seq)

-- doctor_graph_heads
-- Graphs whose head is not the number of their commits.
select count(*) from (
  select 1 from graph left join graph_commit on graph_commit.graph_id = graph.graph_id
  group by graph.graph_id, graph.head_seq
  having count(graph_commit.commit_seq) <> graph.head_seq or coalesce(max(graph_commit.commit_seq), 0) <> graph.head_seq
) wrong

-- doctor_graph_beyond
-- Changes and facts of a commit that is not there.
select (
  select count(*) from graph join fact on fact.graph_id = graph.graph_id and fact.from_seq > graph.head_seq
) + (
  select count(*) from graph join change on change.graph_id = graph.graph_id and change.commit_seq > graph.head_seq
)
