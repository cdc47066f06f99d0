-- schedule_get
-- How far a workflow's schedule has come.
select {schedule.columns} from schedule
where graph_id = :graph_id and name = :name

-- schedule_insert
-- A new schedule.
insert into schedule ({schedule.names}) values ({schedule.values})

-- schedule_update
-- The changed columns of one.
update schedule set {changes}
where graph_id = :graph_id and name = :name

-- schedule_delete
-- Its workflow is deleted.
delete from schedule
where graph_id = :graph_id and name = :name

-- schedule_waiting
-- Schedules that are due, of workflows that are not paused. Index: schedule_due.
select schedule.graph_id, schedule.name from schedule
join named on named.graph_id = schedule.graph_id and named.name = schedule.name
where schedule.due_at_ms <= :now_ms and named.paused_at_ms is null
order by schedule.due_at_ms
limit 100
