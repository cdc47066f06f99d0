-- quad_known
-- Which statements of a list are there now. Index: primary key.
select quad.quad_id from ({each ids}) asked cross join quad
where graph_id = :graph_id and quad_id = asked.id and to_seq is null

-- quad_insert
-- A new statement.
insert into quad ({quad.names}) values ({quad.values})

-- quad_page_at
-- Every statement as a commit left it. Index: primary key.
select {quad.columns} from quad
where graph_id = :graph_id and (quad_id, from_seq) > (:after, :after_seq)
and from_seq <= :seq and (to_seq is null or to_seq > :seq)
order by quad_id, from_seq
limit :limit

-- quad_began_in
-- Statements that began in a range of commits. Index: quad_began.
select {quad.columns} from quad
where graph_id = :graph_id and from_seq > :from_seq and from_seq <= :to_seq

-- quad_ended_in
-- Statements that ended in a range of commits. Index: quad_ended.
select {quad.columns} from quad
where graph_id = :graph_id and to_seq > :from_seq and to_seq <= :to_seq and to_seq is not null

-- quad_edge_at
-- Edges of a relation from one record to another as a commit left them. Index: edge_out.
select {edge.columns} from edge
where graph_id = :graph_id and source_id = :source_id and relation_id = :relation_id and target_id = :target_id
and +from_seq <= :seq and (to_seq is null or to_seq > :seq)
