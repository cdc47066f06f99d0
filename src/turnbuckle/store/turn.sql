-- turn_load
-- A turn with the operation it has, if any. The instance is locked already: a join under the lock would read old rows.
select {turn.columns}, {operation.columns} from turn
left join operation on operation.graph_id = turn.graph_id and operation.instance_id = turn.instance_id
and operation.turn = turn.number
where turn.graph_id = :graph_id and turn.instance_id = :instance_id and turn.number = :number

-- turn_task
-- What a claim hands out: turn, operation, message and the instance's present state.
select {turn.columns}, {operation.columns}, {message.columns}, state.value from turn
join message on message.graph_id = turn.graph_id and message.instance_id = turn.instance_id
and message.number = turn.number
join state on state.graph_id = turn.graph_id and state.instance_id = turn.instance_id
and state.turn = :state_turn
left join operation on operation.graph_id = turn.graph_id and operation.instance_id = turn.instance_id
and operation.turn = turn.number
where turn.graph_id = :graph_id and turn.instance_id = :instance_id and turn.number = :number

-- turn_read
-- A turn with operation, message and the state it completed with.
select {turn.columns}, {operation.columns}, {message.columns}, state.value from turn
join message on message.graph_id = turn.graph_id and message.instance_id = turn.instance_id
and message.number = turn.number
left join state on state.graph_id = turn.graph_id and state.instance_id = turn.instance_id
and state.turn = turn.number
left join operation on operation.graph_id = turn.graph_id and operation.instance_id = turn.instance_id
and operation.turn = turn.number
where turn.graph_id = :graph_id and turn.instance_id = :instance_id and turn.number = :number

-- turn_outline
-- The same without what users put in, so that a list of large turns costs no more than one of small ones.
select {turn.outline}, {operation.outline}, {message.outline}, :nothing from turn
join message on message.graph_id = turn.graph_id and message.instance_id = turn.instance_id
and message.number = turn.number
left join operation on operation.graph_id = turn.graph_id and operation.instance_id = turn.instance_id
and operation.turn = turn.number
where turn.graph_id = :graph_id and turn.instance_id = :instance_id and turn.number = :number

-- turn_insert
-- A new turn.
insert into turn ({turn.names}) values ({turn.values})

-- turn_update
-- The changed columns of one turn.
update turn set {changes}
where graph_id = :graph_id and instance_id = :instance_id and number = :number

-- turn_next_unfinished
-- The first turn after a given one that is still in the inbox, with its operation.
select {turn.columns}, {operation.columns} from turn
left join operation on operation.graph_id = turn.graph_id and operation.instance_id = turn.instance_id
and operation.turn = turn.number
where turn.graph_id = :graph_id and turn.instance_id = :instance_id and turn.number > :after
and turn.finished_at_ms is null
order by turn.number
limit 1

-- turn_unfinished_page
-- Numbers of the turns in the inbox, oldest first.
select number from turn
where graph_id = :graph_id and instance_id = :instance_id and number > :after and finished_at_ms is null
order by number
limit :limit

-- turn_newest_unfinished
-- The newest turn in the inbox.
select created_at_ms from turn
where graph_id = :graph_id and instance_id = :instance_id and finished_at_ms is null
order by number desc
limit 1

-- turn_finished_page
-- Numbers of the turns in the history, oldest first.
select number from turn
where graph_id = :graph_id and instance_id = :instance_id and number > :after and finished_at_ms is not null
order by number
limit :limit

-- turn_prunable
-- The oldest turns of an instance, with when they finished.
select number, finished_at_ms from turn
where graph_id = :graph_id and instance_id = :instance_id and number > :after and number <= :through
order by number
limit :limit

-- turn_prune
-- Pruned turns.
delete from turn
where graph_id = :graph_id and instance_id = :instance_id and number <= :through

-- turn_delete
-- All turns of an instance.
delete from turn
where graph_id = :graph_id and instance_id = :instance_id

-- turn_held_by
-- Instances of a graph whose turn a worker of that name holds. Only asked when a server starts.
select distinct instance_id from turn
where graph_id = :graph_id and status = :held and worker = :worker
order by instance_id
limit :limit
