-- message_by_id
-- The message that was admitted under an id. Index: message_by_id.
select {message.columns} from message
where graph_id = :graph_id and instance_id = :instance_id and message_id = :message_id

-- message_get
-- The message of a turn.
select {message.columns} from message
where graph_id = :graph_id and instance_id = :instance_id and number = :number

-- message_insert
-- A new message.
insert into message ({message.names}) values ({message.values})

-- message_forget
-- Pruned turns keep the ids of their messages, not their content (decision 7).
update message set body = null
where graph_id = :graph_id and instance_id = :instance_id and number <= :through and number > :after

-- message_delete
-- All messages of an instance.
delete from message
where graph_id = :graph_id and instance_id = :instance_id
