-- signal_log
-- All signals of a turn in the order they came, at most 64.
select {signal.columns} from signal
where graph_id = :graph_id and instance_id = :instance_id and turn = :turn
order by arrival

-- signal_outline
-- The same without their values.
select {signal.outline} from signal
where graph_id = :graph_id and instance_id = :instance_id and turn = :turn
order by arrival

-- signal_by_id
-- The signal that was delivered under an event id.
select {signal.columns} from signal
where graph_id = :graph_id and instance_id = :instance_id and turn = :turn and event_id = :event_id

-- signal_oldest
-- The oldest signal of a name that no wait has taken.
select {signal.columns} from signal
where graph_id = :graph_id and instance_id = :instance_id and turn = :turn and name = :name and consumed_by is null
order by arrival
limit 1

-- signal_insert
-- A delivered signal.
insert into signal ({signal.names}) values ({signal.values})

-- signal_update
-- The changed columns of one signal.
update signal set {changes}
where graph_id = :graph_id and instance_id = :instance_id and turn = :turn and event_id = :event_id

-- signal_prune
-- Signals of pruned turns.
delete from signal
where graph_id = :graph_id and instance_id = :instance_id and turn <= :through

-- signal_delete
-- All signals of an instance.
delete from signal
where graph_id = :graph_id and instance_id = :instance_id
