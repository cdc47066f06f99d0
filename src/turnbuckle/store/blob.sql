-- blob_get
-- The bytes of a blob.
select bytes from blob
where graph_id = :graph_id and key = :key

-- blob_insert
-- A new blob, unless the same bytes are there.
insert into blob (graph_id, key, sha256, bytes, written_at_ms)
values (:graph_id, :key, :sha256, :bytes, :now_ms)
on conflict do nothing

-- blob_refresh
-- A blob that was written again: its day begins anew.
update blob set written_at_ms = :now_ms, unused_since_ms = null
where graph_id = :graph_id and key = :key

-- blob_old
-- Blobs not written for a day. Index: blob_written.
select graph_id, key, sha256, unused_since_ms from blob
where written_at_ms < :before_ms
order by written_at_ms

-- blob_mark
-- No mention of the blob was found.
update blob set unused_since_ms = :now_ms
where graph_id = :graph_id and key = :key and unused_since_ms is null

-- blob_unmark
-- A mention of the blob was found.
update blob set unused_since_ms = null
where graph_id = :graph_id and key = :key

-- blob_remove
-- A blob that two sweeps found unused and nobody wrote since.
delete from blob
where graph_id = :graph_id and key = :key and written_at_ms < :before_ms and unused_since_ms <= :unused_before_ms

-- blob_users
-- Instances whose values may mention a blob, a page of them.
select graph_id, instance_id, head, state_turn, last_turn from instance
where graph_id = :graph_id and instance_id > :after
order by instance_id
limit :limit

-- blob_values
-- Every value of an instance that keeps a blob alive: its state, and what its unfinished turns hold.
select value from state
where graph_id = :graph_id and instance_id = :instance_id and turn = :state_turn
union all
select message.body from message
join turn on turn.graph_id = message.graph_id and turn.instance_id = message.instance_id
and turn.number = message.number
where message.graph_id = :graph_id and message.instance_id = :instance_id and turn.finished_at_ms is null
union all
select step.output from step
join turn on turn.graph_id = step.graph_id and turn.instance_id = step.instance_id and turn.number = step.turn
where step.graph_id = :graph_id and step.instance_id = :instance_id and turn.finished_at_ms is null
union all
select operation.cursor from operation
join turn on turn.graph_id = operation.graph_id and turn.instance_id = operation.instance_id
and turn.number = operation.turn
where operation.graph_id = :graph_id and operation.instance_id = :instance_id and turn.finished_at_ms is null
union all
select operation.details from operation
join turn on turn.graph_id = operation.graph_id and turn.instance_id = operation.instance_id
and turn.number = operation.turn
where operation.graph_id = :graph_id and operation.instance_id = :instance_id and turn.finished_at_ms is null
union all
select signal.value from signal
join turn on turn.graph_id = signal.graph_id and turn.instance_id = signal.instance_id and turn.number = signal.turn
where signal.graph_id = :graph_id and signal.instance_id = :instance_id and turn.finished_at_ms is null
