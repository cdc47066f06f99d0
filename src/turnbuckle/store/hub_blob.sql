-- hub_org_get
-- One organization.
select {hub_org.columns} from hub_org
where graph_id = :graph_id and org_id = :org_id

-- hub_org_by_alias
-- One organization by its alias. Index: hub_org_alias.
select {hub_org.columns} from hub_org
where graph_id = :graph_id and alias = :alias

-- hub_org_insert
-- A new organization, unless the alias is taken.
insert into hub_org ({hub_org.names}) values ({hub_org.values})
on conflict do nothing

-- hub_org_page
-- All organizations by alias. Index: hub_org_alias.
select {hub_org.columns} from hub_org
where graph_id = :graph_id
order by alias

-- hub_blob_get
-- One blob.
select {hub_blob.columns} from hub_blob
where graph_id = :graph_id and blob_id = :blob_id

-- hub_blob_lock
-- One blob, locked for the rest of the operation: before its revisions.
select {hub_blob.columns} from hub_blob
where graph_id = :graph_id and blob_id = :blob_id
{lock hub_blob}

-- hub_blob_by_alias
-- One blob by its alias in its organization. Index: hub_blob_alias.
select {hub_blob.columns} from hub_blob
where graph_id = :graph_id and org_id = :org_id and alias = :alias

-- hub_blob_insert
-- A new blob, unless the alias is taken.
insert into hub_blob ({hub_blob.names}) values ({hub_blob.values})
on conflict do nothing

-- hub_blob_update
-- The changed columns of one.
update hub_blob set {changes}
where graph_id = :graph_id and blob_id = :blob_id
