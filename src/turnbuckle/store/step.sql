-- step_log
-- All saved steps of a turn in order, at most 64.
select {step.columns} from step
where graph_id = :graph_id and instance_id = :instance_id and turn = :turn
order by position

-- step_outline
-- The same without their outputs.
select {step.outline} from step
where graph_id = :graph_id and instance_id = :instance_id and turn = :turn
order by position

-- step_near
-- What is saved at a position or under a key of a turn: what a new step there could collide with.
select {step.columns} from step
where graph_id = :graph_id and instance_id = :instance_id and turn = :turn and (position = :position or key = :key)

-- step_at
-- The step at one position.
select {step.columns} from step
where graph_id = :graph_id and instance_id = :instance_id and turn = :turn and position = :position

-- step_times
-- Keys and times of a turn's steps, without their outputs.
select key, at_ms from step
where graph_id = :graph_id and instance_id = :instance_id and turn = :turn
order by position

-- step_insert
-- A saved step.
insert into step ({step.names}) values ({step.values})

-- step_update
-- The changed columns of one step: only a signal's output ever changes, when it is heard.
update step set {changes}
where graph_id = :graph_id and instance_id = :instance_id and turn = :turn and position = :position

-- step_prune
-- Steps of pruned turns.
delete from step
where graph_id = :graph_id and instance_id = :instance_id and turn <= :through

-- step_delete
-- All steps of an instance.
delete from step
where graph_id = :graph_id and instance_id = :instance_id
