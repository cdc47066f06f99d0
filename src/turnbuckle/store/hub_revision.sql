-- hub_revision_get
-- One revision.
select {hub_revision.columns} from hub_revision
where graph_id = :graph_id and revision_id = :revision_id

-- hub_revision_lock
-- One revision, locked for the rest of the operation: after its blob, before its sessions.
select {hub_revision.columns} from hub_revision
where graph_id = :graph_id and revision_id = :revision_id
{lock hub_revision}

-- hub_revision_insert
-- A new revision.
insert into hub_revision ({hub_revision.names}) values ({hub_revision.values})

-- hub_revision_update
-- The changed columns of one.
update hub_revision set {changes}
where graph_id = :graph_id and revision_id = :revision_id

-- hub_revision_page
-- Revisions of a blob, newest first. Index: hub_revision_number.
select {hub_revision.columns} from hub_revision
where graph_id = :graph_id and blob_id = :blob_id and number < :before
order by number desc
limit :limit

-- hub_operation_get
-- One job on a revision.
select {hub_operation.columns} from hub_operation
where graph_id = :graph_id and operation_id = :operation_id

-- hub_operation_insert
-- A new job.
insert into hub_operation ({hub_operation.names}) values ({hub_operation.values})
