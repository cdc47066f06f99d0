-- instance_lock
-- One instance, locked for the rest of the operation: the first lock of everything that changes a turn.
select {instance.columns} from instance
where graph_id = :graph_id and instance_id = :instance_id
{lock instance}

-- instance_get
-- One instance, as it is.
select {instance.columns} from instance
where graph_id = :graph_id and instance_id = :instance_id

-- instance_insert
-- A new instance, unless the id is in use.
insert into instance ({instance.names}) values ({instance.values})
on conflict do nothing

-- instance_update
-- The changed columns of one instance.
update instance set {changes}
where graph_id = :graph_id and instance_id = :instance_id

-- instance_pick
-- The instance of a pair that has been claimable longest. Index: instance_claimable.
select {instance.columns} from instance
where graph_id = :graph_id and workflow_type = :workflow_type and version = :version and claimable_at_ms <= :now_ms
order by claimable_at_ms, instance_id
limit 1
{lock instance} {skip_locked}

-- instance_next_claimable
-- When the next instance of a pair becomes claimable. Index: instance_claimable.
select min(claimable_at_ms) from instance
where graph_id = :graph_id and workflow_type = :workflow_type and version = :version
and claimable_at_ms is not null

-- instance_due
-- Instances whose attempt has ended by itself, the longest ago first. Index: instance_due.
select graph_id, instance_id from instance
where due_at_ms <= :now_ms
order by due_at_ms
limit :limit

-- instance_next_due
-- When the next attempt ends by itself. Index: instance_due.
select min(due_at_ms) from instance
where due_at_ms is not null

-- instance_page
-- Instances by id, from after a given one.
select {instance.columns} from instance
where graph_id = :graph_id and instance_id > :after
order by instance_id
limit :limit

-- instance_page_of_type
-- Instances of one type by id. Index: instance_type.
select {instance.columns} from instance
where graph_id = :graph_id and workflow_type = :workflow_type and instance_id > :after
order by instance_id
limit :limit

-- instance_count_of_type
-- How many instances of one type and version there are.
select count(*) from instance
where graph_id = :graph_id and workflow_type = :workflow_type
and (cast(:version as text) is null or version = :version)

-- instance_count_held
-- How many turns of an environment's graph are held right now. Index: instance_due.
select count(*) from instance
where graph_id = :graph_id and due_at_ms is not null

-- instance_sum_sequence
-- The change counter of a graph.
select coalesce(sum(sequence), 0) from instance
where graph_id = :graph_id

-- instance_delete
-- The instance itself; its turns go with the statements of the other nouns.
delete from instance
where graph_id = :graph_id and instance_id = :instance_id

-- instance_prunable
-- Instances with history that may be due for pruning. Index: instance_prune.
select graph_id, instance_id from instance
where prune_at_ms <= :now_ms
order by prune_at_ms
limit :limit

-- state_get
-- The state an instance had after a turn; turn 0 is the initial one.
select value from state
where graph_id = :graph_id and instance_id = :instance_id and turn = :turn

-- state_insert
-- The state after a turn.
insert into state (graph_id, instance_id, turn, value)
values (:graph_id, :instance_id, :turn, :value)

-- state_delete
-- All states of an instance.
delete from state
where graph_id = :graph_id and instance_id = :instance_id

-- state_prune
-- States after pruned turns, but for the present one.
delete from state
where graph_id = :graph_id and instance_id = :instance_id and turn <= :through and turn <> :kept
