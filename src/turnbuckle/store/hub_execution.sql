-- hub_execution_get
-- One execution.
select {hub_execution.columns} from hub_execution
where graph_id = :graph_id and execution_id = :execution_id

-- hub_execution_lock
-- One execution, locked for the rest of the operation: after its engine instance.
select {hub_execution.columns} from hub_execution
where graph_id = :graph_id and execution_id = :execution_id
{lock hub_execution}

-- hub_execution_insert
-- A new execution.
insert into hub_execution ({hub_execution.names}) values ({hub_execution.values})

-- hub_execution_update
-- The changed columns of one.
update hub_execution set {changes}
where graph_id = :graph_id and execution_id = :execution_id

-- hub_execution_oldest_first
-- Executions of a session. Index: hub_execution_number.
select {hub_execution.columns} from hub_execution
where graph_id = :graph_id and session_id = :session_id and number > :after
order by number
limit :limit

-- hub_execution_newest_first
-- The same from the other end. Index: hub_execution_number.
select {hub_execution.columns} from hub_execution
where graph_id = :graph_id and session_id = :session_id and number < :after
order by number desc
limit :limit

-- hub_execution_open
-- Executions of a session that have not ended. Index: hub_execution_open.
select execution_id from hub_execution
where graph_id = :graph_id and session_id = :session_id and ended_at_us is null
order by number
limit :limit

-- hub_execution_children
-- Executions that one has started and that have not ended. Index: hub_execution_child.
select execution_id from hub_execution
where graph_id = :graph_id and parent_id = :parent_id and ended_at_us is null

-- hub_execution_stopping
-- Executions that were told to stop and have not ended. Index: hub_execution_stopping.
select graph_id, execution_id from hub_execution
where stop_by_us is not null and ended_at_us is null
order by stop_by_us
limit :limit

-- hub_execution_untold
-- Executions that have ended while nobody was told. Index: hub_execution_untold.
select graph_id, execution_id from hub_execution
where ended_at_us is not null and is_told = 0
order by ended_at_us
limit :limit

-- hub_execution_of_session
-- Executions of a session, whatever became of them. Index: hub_execution_number.
select execution_id from hub_execution
where graph_id = :graph_id and session_id = :session_id
order by number
limit :limit

-- hub_execution_open_in_revision
-- An execution of a revision that has not ended. Indexes: hub_session_of_revision, hub_execution_open.
select hub_execution.execution_id from hub_session
join hub_execution on hub_execution.graph_id = hub_session.graph_id
and hub_execution.session_id = hub_session.session_id and hub_execution.ended_at_us is null
where hub_session.graph_id = :graph_id and hub_session.revision_id = :revision_id
limit 1

-- hub_execution_delete
-- The execution itself; its events and data go with their own statements.
delete from hub_execution
where graph_id = :graph_id and execution_id = :execution_id

-- hub_event_insert
-- An event, unless it was told before.
insert into hub_event ({hub_event.names}) values ({hub_event.values})
on conflict do nothing

-- hub_event_oldest_first
-- Events of an execution, from after a place.
select {hub_event.columns} from hub_event
where graph_id = :graph_id and execution_id = :execution_id
and (created_at_us, sequence) > (:at_us, :sequence) and created_at_us < :before_us
order by created_at_us, sequence
limit :limit

-- hub_event_newest_first
-- The same from the other end.
select {hub_event.columns} from hub_event
where graph_id = :graph_id and execution_id = :execution_id
and (created_at_us, sequence) < (:at_us, :sequence) and created_at_us > :since_us
order by created_at_us desc, sequence desc
limit :limit

-- hub_event_clear
-- All events of an execution that is removed.
delete from hub_event
where graph_id = :graph_id and execution_id = :execution_id

-- hub_data_insert
-- A value, unless it was kept before.
insert into hub_data ({hub_data.names}) values ({hub_data.values})
on conflict do nothing

-- hub_data_page
-- Values of an execution in the order they were kept, up to one.
select {hub_data.columns} from hub_data
where graph_id = :graph_id and execution_id = :execution_id and sequence <= :through
order by sequence
limit :limit

-- hub_data_get
-- One value. Index: hub_data_id.
select {hub_data.columns} from hub_data
where graph_id = :graph_id and execution_id = :execution_id and data_id = :data_id

-- hub_data_clear
-- All values of an execution that is removed.
delete from hub_data
where graph_id = :graph_id and execution_id = :execution_id

-- hub_wait_insert
-- A turn that waits.
insert into hub_wait ({hub_wait.names}) values ({hub_wait.values})
on conflict do nothing

-- hub_wait_page
-- Turns that wait for one thing.
select {hub_wait.columns} from hub_wait
where graph_id = :graph_id and topic = :topic
order by instance_id, turn, signal

-- hub_wait_delete
-- A turn that was told, or that waits no more.
delete from hub_wait
where graph_id = :graph_id and topic = :topic and instance_id = :instance_id and turn = :turn and signal = :signal

-- hub_instances
-- The engine's instances of an execution: its own and those of its branches. Index: the primary key.
select instance_id from instance
where graph_id = :graph_id and instance_id >= :first and instance_id < :beyond
order by instance_id
