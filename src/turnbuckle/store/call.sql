-- call_insert
-- A call, written once when it has ended.
insert into call ({call.names}) values ({call.values})

-- call_page
-- Calls of a graph between two ids, the newest first, without what was asked and answered. Primary key.
select {call.outline} from call
where graph_id = :graph_id and id >= :first and id < :before and (:job = '' or job = :job)
order by id desc
limit :limit

-- call_get
-- One call.
select {call.columns} from call
where graph_id = :graph_id and id = :id

-- call_expired
-- The oldest calls before a time. Index: call_at.
select graph_id, id from call
where at_ms < :before_ms
order by at_ms
limit :limit

-- call_remove
-- One call.
delete from call
where graph_id = :graph_id and id = :id
