-- review_lock
-- One item by its id, locked for the rest of the operation.
select {review.columns} from review
where graph_id = :graph_id and review_id = :review_id
{lock review}

-- review_lock_by_key
-- The same by its key. Index: review_by_key.
select {review.columns} from review
where graph_id = :graph_id and key = :key
{lock review}

-- review_get
-- One item by its id, as it is.
select {review.columns} from review
where graph_id = :graph_id and review_id = :review_id

-- review_by_key
-- One item by its key, without its facts. Index: review_by_key.
select {review.outline} from review
where graph_id = :graph_id and key = :key

-- review_insert
-- A new item, unless its key is in use.
insert into review ({review.names}) values ({review.values})
on conflict do nothing

-- review_update
-- The changed columns of one item.
update review set {changes}
where graph_id = :graph_id and review_id = :review_id

-- review_page
-- Items before a place, latest update first, without their facts. Index: review_updated.
select {review.outline} from review
where graph_id = :graph_id and (updated_at_ms, review_id) < (:before_ms, :before_id)
order by updated_at_ms desc, review_id desc
limit :limit

-- review_page_of_status
-- The same in one status. Index: review_updated_of_status.
select {review.outline} from review
where graph_id = :graph_id and status = :status and (updated_at_ms, review_id) < (:before_ms, :before_id)
order by updated_at_ms desc, review_id desc
limit :limit

-- review_page_of_workflow
-- The same that one workflow asks. Index: review_updated_of_workflow.
select {review.outline} from review
where graph_id = :graph_id and workflow_name = :workflow_name
and (updated_at_ms, review_id) < (:before_ms, :before_id)
order by updated_at_ms desc, review_id desc
limit :limit

-- review_due_now
-- Items whose answer has still to be written or delivered, the longest due first. Index: review_due.
select graph_id, review_id from review
where due_at_ms <= :now_ms
order by due_at_ms
limit :limit

-- review_next_due
-- When the next item is due. Index: review_due.
select min(due_at_ms) from review
where due_at_ms is not null

-- review_patterns
-- How many items of a status ask the same about records of one type. Index: review_updated_of_status.
select kind, subject_type, property, origin_id, eval_id, count(*) from review
where graph_id = :graph_id and status = :status
group by kind, subject_type, property, origin_id, eval_id
order by count(*) desc

-- review_graph
-- Environment and name of the graph with an id.
select environment, name from graph
where graph_id = :graph_id

-- review_waiter_put
-- A turn that waits; asking again makes it the newest.
insert into review_waiter ({review_waiter.names}) values ({review_waiter.values})
on conflict (graph_id, review_id, instance_id, turn)
do update set asked_at_ms = excluded.asked_at_ms, signal = excluded.signal, outcome = excluded.outcome,
error = excluded.error

-- review_waiter_next
-- The turn that has waited longest and was not told.
select {review_waiter.columns} from review_waiter
where graph_id = :graph_id and review_id = :review_id and outcome = 'waiting'
order by asked_at_ms, instance_id, turn
limit 1

-- review_waiter_count
-- How many turns wait.
select count(*) from review_waiter
where graph_id = :graph_id and review_id = :review_id and outcome = 'waiting'

-- review_waiter_update
-- The changed columns of one waiter.
update review_waiter set {changes}
where graph_id = :graph_id and review_id = :review_id and instance_id = :instance_id and turn = :turn

-- review_comment_insert
-- A comment, written once.
insert into review_comment ({review_comment.names}) values ({review_comment.values})

-- review_comments
-- All comments of an item, oldest first.
select {review_comment.columns} from review_comment
where graph_id = :graph_id and review_id = :review_id
order by number

-- review_request_insert
-- An idempotency key with what it was used for, unless it is known.
insert into review_request (graph_id, idempotency_key, request_hash, at_ms)
values (:graph_id, :idempotency_key, :request_hash, :now_ms)
on conflict do nothing

-- review_request_get
-- What an idempotency key was used for.
select request_hash, answer from review_request
where graph_id = :graph_id and idempotency_key = :idempotency_key

-- review_request_answered
-- The answer of a batch, for its repeats.
update review_request set answer = :answer
where graph_id = :graph_id and idempotency_key = :idempotency_key
