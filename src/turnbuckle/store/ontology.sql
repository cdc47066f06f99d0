-- ontology_get
-- One version's document.
select document from ontology
where graph_id = :graph_id and version = :version

-- ontology_insert
-- A new version.
insert into ontology (graph_id, version, made_at_ms, document)
values (:graph_id, :version, :made_at_ms, :document)
