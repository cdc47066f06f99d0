-- doctor_schema
-- Number of the newest migration the store has.
select max(number) from schema_migration

-- doctor_instances
-- A page of all instances over all graphs, with the graph's name where there is one. Those of deleted graphs go soon.
select {instance.columns}, graph.environment, graph.name from instance
left join graph on graph.graph_id = instance.graph_id
where (instance.graph_id, instance.instance_id) > (:after_graph_id, :after_instance_id)
and not exists (select 1 from deleted_graph where deleted_graph.graph_id = instance.graph_id)
order by instance.graph_id, instance.instance_id
limit :limit

-- doctor_turns
-- How many turns an instance has in each state, in and out of the inbox. Key order of the table, no index of its own.
select graph_id, instance_id, status, finished_at_ms is null, count(*), min(number), max(number), count(token_hash)
from turn
where (graph_id, instance_id) > (:after_graph_id, :after_instance_id)
and (graph_id, instance_id) <= (:last_graph_id, :last_instance_id)
group by graph_id, instance_id, status, finished_at_ms is null

-- doctor_messages
-- How many messages an instance has, and how many of them have kept their content.
select graph_id, instance_id, count(*), min(number), max(number), count(body) from message
where (graph_id, instance_id) > (:after_graph_id, :after_instance_id)
and (graph_id, instance_id) <= (:last_graph_id, :last_instance_id)
group by graph_id, instance_id

-- doctor_states
-- Instances whose present state is there.
select instance.graph_id, instance.instance_id from instance
join state on state.graph_id = instance.graph_id and state.instance_id = instance.instance_id
and state.turn = instance.state_turn
where (instance.graph_id, instance.instance_id) > (:after_graph_id, :after_instance_id)
and (instance.graph_id, instance.instance_id) <= (:last_graph_id, :last_instance_id)

-- doctor_steps
-- Turns whose saved steps are not as many as the turn says, one per position from 0 and per key.
select turn.graph_id, turn.instance_id, turn.number, turn.step_count, count(step.position), max(step.position),
count(distinct step.key)
from turn
left join step on step.graph_id = turn.graph_id and step.instance_id = turn.instance_id and step.turn = turn.number
where (turn.graph_id, turn.instance_id) > (:after_graph_id, :after_instance_id)
and (turn.graph_id, turn.instance_id) <= (:last_graph_id, :last_instance_id)
group by turn.graph_id, turn.instance_id, turn.number
having count(step.position) <> turn.step_count or count(distinct step.key) <> turn.step_count
or coalesce(max(step.position), -1) <> turn.step_count - 1 or coalesce(min(step.position), 0) <> 0

-- doctor_signals
-- Turns whose signals are not as many as the turn says, one per arrival from 0.
select turn.graph_id, turn.instance_id, turn.number, turn.signal_count, count(signal.arrival), max(signal.arrival),
count(distinct signal.arrival)
from turn
left join signal on signal.graph_id = turn.graph_id and signal.instance_id = turn.instance_id
and signal.turn = turn.number
where (turn.graph_id, turn.instance_id) > (:after_graph_id, :after_instance_id)
and (turn.graph_id, turn.instance_id) <= (:last_graph_id, :last_instance_id)
group by turn.graph_id, turn.instance_id, turn.number
having count(signal.arrival) <> turn.signal_count or count(distinct signal.arrival) <> turn.signal_count
or coalesce(max(signal.arrival), -1) <> turn.signal_count - 1

-- doctor_consumed
-- Signals that were taken by a step which is not saved.
select signal.graph_id, signal.instance_id, signal.turn, signal.event_id, signal.consumed_by from signal
where (signal.graph_id, signal.instance_id) > (:after_graph_id, :after_instance_id)
and (signal.graph_id, signal.instance_id) <= (:last_graph_id, :last_instance_id)
and signal.consumed_by is not null and not exists (
  select 1 from step
  where step.graph_id = signal.graph_id and step.instance_id = signal.instance_id and step.turn = signal.turn
  and step.key = signal.consumed_by
)

-- doctor_runs
-- Turns whose last run has ended and left no record, though records of that time are still kept.
select turn.graph_id, turn.instance_id, turn.number, turn.run_id from turn
where (turn.graph_id, turn.instance_id) > (:after_graph_id, :after_instance_id)
and (turn.graph_id, turn.instance_id) <= (:last_graph_id, :last_instance_id)
and turn.run_ended_at_ms >= :since_ms and not exists (
  select 1 from run
  where run.graph_id = turn.graph_id and run.instance_id = turn.instance_id and run.run_id = turn.run_id
)

-- doctor_stray_turns
-- Turns without an instance or without a message.
select count(*) from turn
where not exists (
  select 1 from instance where instance.graph_id = turn.graph_id and instance.instance_id = turn.instance_id
)
or not exists (
  select 1 from message
  where message.graph_id = turn.graph_id and message.instance_id = turn.instance_id and message.number = turn.number
)

-- doctor_stray_messages
-- Messages without an instance.
select count(*) from message
where not exists (
  select 1 from instance where instance.graph_id = message.graph_id and instance.instance_id = message.instance_id
)

-- doctor_stray_states
-- States without an instance.
select count(*) from state
where not exists (
  select 1 from instance where instance.graph_id = state.graph_id and instance.instance_id = state.instance_id
)

-- doctor_stray_runs
-- Runs without an instance.
select count(*) from run
where not exists (
  select 1 from instance where instance.graph_id = run.graph_id and instance.instance_id = run.instance_id
)

-- doctor_stray_steps
-- Steps without a turn.
select count(*) from step
where not exists (
  select 1 from turn
  where turn.graph_id = step.graph_id and turn.instance_id = step.instance_id and turn.number = step.turn
)

-- doctor_stray_signals
-- Signals without a turn.
select count(*) from signal
where not exists (
  select 1 from turn
  where turn.graph_id = signal.graph_id and turn.instance_id = signal.instance_id and turn.number = signal.turn
)

-- doctor_stray_operations
-- Operations without a turn, or begun at a position that their turn has not reached.
select count(*) from operation
where not exists (
  select 1 from turn
  where turn.graph_id = operation.graph_id and turn.instance_id = operation.instance_id
  and turn.number = operation.turn and operation.position <= turn.step_count
)

-- doctor_stray_review_waiters
-- Turns that wait for the answer to no item.
select count(*) from review_waiter
where not exists (
  select 1 from review where review.graph_id = review_waiter.graph_id and review.review_id = review_waiter.review_id
)

-- doctor_stray_review_comments
-- Comments on no item.
select count(*) from review_comment
where not exists (
  select 1 from review where review.graph_id = review_comment.graph_id and review.review_id = review_comment.review_id
)

-- doctor_reviews
-- Items whose answer is forgotten, late, or told to some who wait and not to others.
select graph_id, review_id, status, write, delivery, due_at_ms from review
where (due_at_ms is null and (write = 'pending' or delivery = 'pending'))
or (due_at_ms is not null and (status <> 'answered' or delivery <> 'pending'))
or due_at_ms < :late_ms
or (status = 'answered' and delivery <> 'pending' and exists (
  select 1 from review_waiter
  where review_waiter.graph_id = review.graph_id and review_waiter.review_id = review.review_id
  and review_waiter.outcome = 'waiting'
))
order by graph_id, review_id
limit :limit

-- doctor_stray_watches
-- Watches of no workflow.
select count(*) from watch
where not exists (select 1 from named where named.graph_id = watch.graph_id and named.name = watch.name)

-- doctor_stray_watch_items
-- Instances that wait in the queue of no watch, and are not about to be removed.
select count(*) from watch_item
where not exists (
  select 1 from watch where watch.graph_id = watch_item.graph_id and watch.queue_id = watch_item.queue_id
)
and not exists (
  select 1 from watch_old_queue
  where watch_old_queue.graph_id = watch_item.graph_id and watch_old_queue.queue_id = watch_item.queue_id
)
