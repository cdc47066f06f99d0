-- run_insert
-- The record of a run, written once when it ends.
insert into run ({run.names}) values ({run.values})
on conflict do nothing

-- run_page
-- Runs of an instance, newest first.
select {run.columns} from run
where graph_id = :graph_id and instance_id = :instance_id and run_id < :before
order by run_id desc
limit :limit

-- run_get
-- One run.
select {run.columns} from run
where graph_id = :graph_id and instance_id = :instance_id and run_id = :run_id

-- run_expired
-- Runs that ended before a time, the oldest first. Index: run_ended.
select graph_id, instance_id, run_id from run
where ended_at_ms < :before_ms
order by ended_at_ms
limit :limit

-- run_remove
-- One run.
delete from run
where graph_id = :graph_id and instance_id = :instance_id and run_id = :run_id

-- run_delete
-- All runs of an instance.
delete from run
where graph_id = :graph_id and instance_id = :instance_id
