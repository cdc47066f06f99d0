-- hub_object_get
-- One object of a session.
select {hub_object.columns} from hub_object
where graph_id = :graph_id and session_id = :session_id and alias = :alias

-- hub_object_insert
-- A new object, unless its alias is taken.
insert into hub_object ({hub_object.names}) values ({hub_object.values})
on conflict do nothing

-- hub_object_update
-- The changed columns of one.
update hub_object set {changes}
where graph_id = :graph_id and session_id = :session_id and alias = :alias

-- hub_object_delete
-- One object; its items or elements go with their own statements.
delete from hub_object
where graph_id = :graph_id and session_id = :session_id and alias = :alias

-- hub_object_page
-- Objects of a session by alias, between two texts, without their contents.
select alias, type, updated_at_us from hub_object
where graph_id = :graph_id and session_id = :session_id and alias > :after and alias >= :first and alias < :beyond
order by alias
limit :limit
