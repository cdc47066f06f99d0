-- A plus before a column keeps SQLite, which has no statistics here, from an index on it that finds far more rows.

-- edge_out_of
-- Present links out of a list of records. Index: edge_out.
select {edge.columns} from ({each ids}) asked cross join edge
where graph_id = :graph_id and source_id = asked.id and to_seq is null

-- edge_into
-- Present links to a list of records. Index: edge_in.
select {edge.columns} from ({each ids}) asked cross join edge
where graph_id = :graph_id and target_id = asked.id and to_seq is null

-- edge_out_at
-- Links out of one record as a commit left them. Index: edge_out.
select {edge.columns} from edge
where graph_id = :graph_id and source_id = :entity_id
and +from_seq <= :seq and (to_seq is null or to_seq > :seq)
order by +from_seq, position
limit :limit

-- edge_in_at
-- Links to one record as a commit left them. Index: edge_in.
select {edge.columns} from edge
where graph_id = :graph_id and target_id = :entity_id
and +from_seq <= :seq and (to_seq is null or to_seq > :seq)
order by +from_seq, position
limit :limit

-- edge_page_at
-- Every link as a commit left it. Index: primary key.
select {edge.columns} from edge
where graph_id = :graph_id and (from_seq, position) > (:after_seq, :after)
and from_seq <= :seq and (to_seq is null or to_seq > :seq)
order by from_seq, position
limit :limit

-- edge_began_in
-- Rows that began in a range of commits. Index: primary key.
select {edge.columns} from edge
where graph_id = :graph_id and from_seq > :from_seq and from_seq <= :to_seq

-- edge_ended_in
-- Rows that ended in a range of commits. Index: edge_ended.
select {edge.columns} from edge
where graph_id = :graph_id and to_seq > :from_seq and to_seq <= :to_seq and to_seq is not null

-- edge_of_relation
-- Present links of one relation.
select {edge.columns} from edge
where graph_id = :graph_id and (from_seq, position) > (:after_seq, :after)
and relation_id = :relation_id and to_seq is null
order by from_seq, position
limit :limit

-- edge_insert
-- A new link.
insert into edge ({edge.names}) values ({edge.values})

-- edge_end
-- The link is valid up to a commit.
update edge set to_seq = :to_seq
where graph_id = :graph_id and from_seq = :from_seq and position = :position
