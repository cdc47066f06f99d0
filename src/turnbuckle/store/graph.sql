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

