-- hub_definition_get
-- One definition.
select {hub_definition.columns} from hub_definition
where graph_id = :graph_id and definition_id = :definition_id

-- hub_definition_by_alias
-- One definition by its alias. Index: hub_definition_alias.
select {hub_definition.columns} from hub_definition
where graph_id = :graph_id and revision_id = :revision_id and category = :category and alias = :alias

-- hub_definition_page
-- Definitions of one category of a revision, by alias. Index: hub_definition_alias.
select {hub_definition.columns} from hub_definition
where graph_id = :graph_id and revision_id = :revision_id and category = :category
order by alias
limit :limit

-- hub_definition_insert
-- A new definition, unless its alias is taken.
insert into hub_definition ({hub_definition.names}) values ({hub_definition.values})
on conflict do nothing

-- hub_definition_update
-- The changed columns of one.
update hub_definition set {changes}
where graph_id = :graph_id and definition_id = :definition_id

-- hub_definition_delete
-- One definition; executions that run it keep its document.
delete from hub_definition
where graph_id = :graph_id and definition_id = :definition_id

-- hub_document_get
-- A document by its hash.
select bytes from hub_document
where graph_id = :graph_id and sha256 = :sha256

-- hub_document_insert
-- A document, unless the same bytes are there.
insert into hub_document (graph_id, sha256, bytes, written_at_us)
values (:graph_id, :sha256, :bytes, :now_us)
on conflict do nothing

-- hub_document_refresh
-- Somebody wrote the same bytes again.
update hub_document set written_at_us = :now_us
where graph_id = :graph_id and sha256 = :sha256

-- hub_document_remove_unused
-- Documents that nothing names. Indexes: hub_definition_document, hub_execution_document.
delete from hub_document
where written_at_us < :before_us
and not exists (
  select 1 from hub_definition
  where hub_definition.graph_id = hub_document.graph_id and hub_definition.sha256 = hub_document.sha256
)
and not exists (
  select 1 from hub_execution
  where hub_execution.graph_id = hub_document.graph_id and hub_execution.sha256 = hub_document.sha256
)
