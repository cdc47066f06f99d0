-- hub_thread_item_get
-- One item of a thread. Index: hub_thread_item_id.
select {hub_thread_item.columns} from hub_thread_item
where graph_id = :graph_id and session_id = :session_id and alias = :alias and item_id = :item_id

-- hub_thread_item_insert
-- A new item.
insert into hub_thread_item ({hub_thread_item.names}) values ({hub_thread_item.values})

-- hub_thread_item_oldest_first
-- Items of a thread, from after a place.
select {hub_thread_item.columns} from hub_thread_item
where graph_id = :graph_id and session_id = :session_id and alias = :alias
and (created_at_us, sequence) > (:at_us, :sequence) and created_at_us < :before_us
order by created_at_us, sequence
limit :limit

-- hub_thread_item_newest_first
-- The same from the other end.
select {hub_thread_item.columns} from hub_thread_item
where graph_id = :graph_id and session_id = :session_id and alias = :alias
and (created_at_us, sequence) < (:at_us, :sequence) and created_at_us > :since_us
order by created_at_us desc, sequence desc
limit :limit

-- hub_thread_item_first_after
-- The first item after a place that is not by one author.
select {hub_thread_item.columns} from hub_thread_item
where graph_id = :graph_id and session_id = :session_id and alias = :alias
and (created_at_us, sequence) > (:at_us, :sequence) and user_id <> :not_by
order by created_at_us, sequence
limit 1

-- hub_thread_item_delete_all
-- All items of a thread that is deleted.
delete from hub_thread_item
where graph_id = :graph_id and session_id = :session_id and alias = :alias
