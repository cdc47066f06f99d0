-- operation_insert
-- The first operation of a turn.
insert into operation ({operation.names}) values ({operation.values})

-- operation_update
-- The changed columns of a turn's operation.
update operation set {changes}
where graph_id = :graph_id and instance_id = :instance_id and turn = :turn

-- operation_prune
-- Operations of pruned turns.
delete from operation
where graph_id = :graph_id and instance_id = :instance_id and turn <= :through

-- operation_delete
-- All operations of an instance.
delete from operation
where graph_id = :graph_id and instance_id = :instance_id
