-- stream_get
-- The stream of a workflow.
select {stream.columns} from stream
where graph_id = :graph_id and name = :name

-- stream_insert
-- A new stream.
insert into stream ({stream.names}) values ({stream.values})

-- stream_update
-- The changed columns of one.
update stream set {changes}
where graph_id = :graph_id and name = :name

-- stream_delete
-- Its workflow is deleted; its events go in pieces.
delete from stream
where graph_id = :graph_id and name = :name

-- stream_waiting
-- Streams with events that wait, of workflows that are not paused.
select stream.graph_id, stream.name from stream
join named on named.graph_id = stream.graph_id and named.name = stream.name
where stream.pending > 0 and named.paused_at_ms is null
limit 100

-- stream_event_get
-- The event of an id.
select {stream_event.columns} from stream_event
where graph_id = :graph_id and queue_id = :queue_id and event_id = :event_id

-- stream_event_insert
-- A new event.
insert into stream_event ({stream_event.names}) values ({stream_event.values})

-- stream_event_forget
-- The event of an id, which is no longer told apart.
delete from stream_event
where graph_id = :graph_id and queue_id = :queue_id and event_id = :event_id

-- stream_event_page
-- The first events of a shard that wait. Index: stream_event_waiting.
select {stream_event.columns} from stream_event
where graph_id = :graph_id and queue_id = :queue_id and shard = :shard and sent_at_ms is null
order by number
limit :limit

-- stream_event_oldest
-- When the event came that waits longest. Index: stream_event_waiting.
select min(received_at_ms) from stream_event
where graph_id = :graph_id and queue_id = :queue_id and sent_at_ms is null

-- stream_event_sent
-- Events of a shard went out in one message: their bodies are in its blob.
update stream_event set sent_at_ms = :now_ms, body = null
where graph_id = :graph_id and queue_id = :queue_id and shard = :shard and sent_at_ms is null and number <= :through

-- stream_event_rate
-- How many came since a time. Index: stream_event_received.
select count(*) from stream_event
where graph_id = :graph_id and queue_id = :queue_id and received_at_ms > :since_ms

-- stream_event_old
-- A piece of the events that were sent and are no longer told apart.
delete from stream_event where (graph_id, queue_id, event_id) in (
select stream_event.graph_id, stream_event.queue_id, stream_event.event_id from stream_event
join stream on stream.graph_id = stream_event.graph_id and stream.queue_id = stream_event.queue_id
where stream_event.sent_at_ms is not null
and (stream_event.received_at_ms < :before_ms or stream_event.number < stream.next_number - :known)
limit :limit)

-- stream_event_drop
-- A piece of the events of a queue that was left.
delete from stream_event where (graph_id, queue_id, event_id) in (
select graph_id, queue_id, event_id from stream_event
where graph_id = :graph_id and queue_id = :queue_id limit :limit)
