-- graph_get
-- One graph by its name.
select graph_id from graph
where environment = :environment and name = :name

-- graph_insert
-- A new graph, unless another operation made it first.
insert into graph (graph_id, environment, name, created_at_ms)
values (:graph_id, :environment, :name, :now_ms)
on conflict do nothing

-- environment_insert
-- A new environment, unless it is there.
insert into environment (name, created_at_ms)
values (:name, :now_ms)
on conflict do nothing


-- graph_head
-- Where a graph stands.
select {head.columns} from graph head
where graph_id = :graph_id

-- graph_lock
-- The same, locked for the rest of the operation: the first lock of everything that commits.
select {head.columns} from graph head
where graph_id = :graph_id
{lock head}

-- head_update
-- The changed columns of a graph.
update graph set {changes}
where graph_id = :graph_id

-- graph_ids
-- Every graph there is.
select graph_id from graph

-- graph_page
-- Names of the graphs of an environment, from after one.
select name from graph
where environment = :environment and name > :after
order by name
limit :limit

-- graph_delete
-- The name is free again; the rows go piece by piece.
delete from graph
where graph_id = :graph_id

-- deleted_graph_insert
-- A graph whose rows go.
insert into deleted_graph (graph_id, deleted_at_ms)
values (:graph_id, :now_ms)
on conflict do nothing

-- deleted_graph_list
-- Graphs whose rows go, the oldest first.
select graph_id, deleted_at_ms from deleted_graph
order by deleted_at_ms, graph_id

-- deleted_graph_forget
-- Nothing of it can be left.
delete from deleted_graph
where graph_id = :graph_id

-- graph_environments
-- The environments that have a graph of that name.
select environment from graph
where name = :name
order by environment
