-- hub_graph_element_get
-- One element of a session's graph.
select {hub_graph_element.columns} from hub_graph_element
where graph_id = :graph_id and session_id = :session_id and alias = :alias and element_id = :element_id

-- hub_graph_element_some
-- Elements by their ids, in the order of the ids.
select {hub_graph_element.columns} from hub_graph_element
where graph_id = :graph_id and session_id = :session_id and alias = :alias
and element_id in ({each ids})
order by element_id

-- hub_graph_element_insert
-- A new element, unless the id is taken.
insert into hub_graph_element ({hub_graph_element.names}) values ({hub_graph_element.values})
on conflict do nothing

-- hub_graph_element_update
-- The changed columns of one.
update hub_graph_element set {changes}
where graph_id = :graph_id and session_id = :session_id and alias = :alias and element_id = :element_id

-- hub_graph_element_delete
-- One element.
delete from hub_graph_element
where graph_id = :graph_id and session_id = :session_id and alias = :alias and element_id = :element_id

-- hub_graph_element_delete_all
-- All elements of a graph that is deleted.
delete from hub_graph_element
where graph_id = :graph_id and session_id = :session_id and alias = :alias

-- hub_graph_element_created_up
-- Elements in the order they were made. Index: hub_graph_element_created.
select {hub_graph_element.columns} from hub_graph_element
where graph_id = :graph_id and session_id = :session_id and alias = :alias
and (created_at_us, created_sequence) > (:at_us, :sequence)
and (cast(:type as text) is null or type = :type)
order by created_at_us, created_sequence
limit :limit

-- hub_graph_element_created_down
-- The same from the other end. Index: hub_graph_element_created.
select {hub_graph_element.columns} from hub_graph_element
where graph_id = :graph_id and session_id = :session_id and alias = :alias
and (created_at_us, created_sequence) < (:at_us, :sequence)
and (cast(:type as text) is null or type = :type)
order by created_at_us desc, created_sequence desc
limit :limit

-- hub_graph_element_updated_up
-- Elements in the order of their last change. Index: hub_graph_element_updated.
select {hub_graph_element.columns} from hub_graph_element
where graph_id = :graph_id and session_id = :session_id and alias = :alias
and (updated_at_us, updated_sequence) > (:at_us, :sequence)
and (cast(:type as text) is null or type = :type)
order by updated_at_us, updated_sequence
limit :limit

-- hub_graph_element_updated_down
-- The same from the other end, down to a time. Index: hub_graph_element_updated.
select {hub_graph_element.columns} from hub_graph_element
where graph_id = :graph_id and session_id = :session_id and alias = :alias
and (updated_at_us, updated_sequence) < (:at_us, :sequence) and updated_at_us > :since_us
and (cast(:type as text) is null or type = :type)
order by updated_at_us desc, updated_sequence desc
limit :limit

-- hub_graph_element_out
-- Edges that leave one vertex. Index: hub_graph_element_from.
select {hub_graph_element.columns} from hub_graph_element
where graph_id = :graph_id and session_id = :session_id and alias = :alias
and from_id = :element_id and from_id is not null
order by element_id
limit :limit

-- hub_graph_element_in
-- Edges that lead to one vertex. Index: hub_graph_element_to.
select {hub_graph_element.columns} from hub_graph_element
where graph_id = :graph_id and session_id = :session_id and alias = :alias
and to_id = :element_id and to_id is not null
order by element_id
limit :limit
