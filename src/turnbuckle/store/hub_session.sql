-- hub_session_get
-- One session.
select {hub_session.columns} from hub_session
where graph_id = :graph_id and session_id = :session_id

-- hub_session_lock
-- One session, locked for the rest of the operation: before its executions.
select {hub_session.columns} from hub_session
where graph_id = :graph_id and session_id = :session_id
{lock hub_session}

-- hub_session_by_alias
-- One session by its alias. Index: hub_session_alias.
select {hub_session.columns} from hub_session
where graph_id = :graph_id and revision_id = :revision_id and alias = :alias

-- hub_session_insert
-- A new session, unless its alias is taken.
insert into hub_session ({hub_session.names}) values ({hub_session.values})
on conflict do nothing

-- hub_session_update
-- The changed columns of one.
update hub_session set {changes}
where graph_id = :graph_id and session_id = :session_id

-- hub_session_oldest_first
-- Sessions of a revision that are not deleted. Index: hub_session_of_revision.
select {hub_session.columns} from hub_session
where graph_id = :graph_id and revision_id = :revision_id and status <> 'deleted'
and (created_at_us, session_id) > (:at_us, :after)
order by created_at_us, session_id
limit :limit

-- hub_session_newest_first
-- The same from the other end. Index: hub_session_of_revision.
select {hub_session.columns} from hub_session
where graph_id = :graph_id and revision_id = :revision_id and status <> 'deleted'
and (created_at_us, session_id) < (:at_us, :after)
order by created_at_us desc, session_id desc
limit :limit

-- hub_session_unsettled
-- Sessions that are on their way to closed, or whose rows are to go. Index: hub_session_unsettled.
select graph_id, session_id, status from hub_session
where status in ('closing', 'deleting', 'deleted')
limit :limit

-- hub_session_expired
-- Sessions without alias that nobody has used for a while and in which nothing runs. Index: hub_session_nameless.
select graph_id, session_id from hub_session
where alias is null and updated_at_us < :before_us and last_at_us < :before_us and status in ('open', 'closed')
and not exists (
  select 1 from hub_execution
  where hub_execution.graph_id = hub_session.graph_id and hub_execution.session_id = hub_session.session_id
  and hub_execution.ended_at_us is null
)
limit :limit

-- hub_session_delete
-- The session itself, when nothing of it is left.
delete from hub_session
where graph_id = :graph_id and session_id = :session_id

-- hub_session_event_insert
-- A change of a session.
insert into hub_session_event ({hub_session_event.names}) values ({hub_session_event.values})

-- hub_session_event_oldest_first
-- Changes of a session, from after a place.
select {hub_session_event.columns} from hub_session_event
where graph_id = :graph_id and session_id = :session_id
and (created_at_us, sequence) > (:at_us, :sequence) and created_at_us < :before_us
order by created_at_us, sequence
limit :limit

-- hub_session_event_newest_first
-- The same from the other end.
select {hub_session_event.columns} from hub_session_event
where graph_id = :graph_id and session_id = :session_id
and (created_at_us, sequence) < (:at_us, :sequence) and created_at_us > :since_us
order by created_at_us desc, sequence desc
limit :limit

-- hub_session_event_clear
-- A piece of a deleted session.
delete from hub_session_event
where (graph_id, session_id, created_at_us, sequence) in (
  select graph_id, session_id, created_at_us, sequence from hub_session_event
  where graph_id = :graph_id and session_id = :session_id limit :limit
)

-- hub_object_clear
-- A piece of a deleted session.
delete from hub_object
where (graph_id, session_id, alias) in (
  select graph_id, session_id, alias from hub_object
  where graph_id = :graph_id and session_id = :session_id limit :limit
)

-- hub_thread_item_clear
-- A piece of a deleted session.
delete from hub_thread_item
where (graph_id, session_id, alias, created_at_us, sequence) in (
  select graph_id, session_id, alias, created_at_us, sequence from hub_thread_item
  where graph_id = :graph_id and session_id = :session_id limit :limit
)

-- hub_graph_element_clear
-- A piece of a deleted session.
delete from hub_graph_element
where (graph_id, session_id, alias, element_id) in (
  select graph_id, session_id, alias, element_id from hub_graph_element
  where graph_id = :graph_id and session_id = :session_id limit :limit
)
