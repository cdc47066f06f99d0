-- doctor_hub_sessions
-- Sessions that say another number of executions than there are. Reads whole tables.
select count(*) from hub_session
where executions <> (
  select count(*) from hub_execution
  where hub_execution.graph_id = hub_session.graph_id and hub_execution.session_id = hub_session.session_id
)
and status <> 'deleted'

-- doctor_hub_revisions
-- Revisions that say another number of sessions than there are. Reads whole tables.
select count(*) from hub_revision
where sessions <> (
  select count(*) from hub_session
  where hub_session.graph_id = hub_revision.graph_id and hub_session.revision_id = hub_revision.revision_id
  and hub_session.status <> 'deleted'
)

-- doctor_hub_definitions
-- Revisions that say another number of definitions than there are. Reads whole tables.
select count(*) from hub_revision
where workflows + playgrounds <> (
  select count(*) from hub_definition
  where hub_definition.graph_id = hub_revision.graph_id and hub_definition.revision_id = hub_revision.revision_id
)

-- doctor_hub_documents
-- Definitions whose document is gone. Reads whole tables.
select count(*) from hub_definition
where not exists (
  select 1 from hub_document
  where hub_document.graph_id = hub_definition.graph_id and hub_document.sha256 = hub_definition.sha256
)

-- doctor_hub_lost
-- Executions that have not ended and that no turn will ever end. Reads whole tables.
select count(*) from hub_execution
where ended_at_us is null and not exists (
  select 1 from instance
  where instance.graph_id = hub_execution.graph_id
  and instance.instance_id = 'exec.' || hub_execution.execution_id and instance.head is not null
)

-- doctor_hub_running
-- Executions that ended a while ago with turns that go on. Reads whole tables.
select count(*) from hub_execution
join instance on instance.graph_id = hub_execution.graph_id
and instance.instance_id = 'exec.' || hub_execution.execution_id
where hub_execution.is_told = 1 and instance.head is not null

-- doctor_hub_events
-- Executions that say fewer events than there are. Reads whole tables.
select count(*) from hub_execution
where events < (
  select count(*) from hub_event
  where hub_event.graph_id = hub_execution.graph_id and hub_event.execution_id = hub_execution.execution_id
)
