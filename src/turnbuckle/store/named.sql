-- named_get
-- One named workflow, as it is.
select {named.columns} from named
where graph_id = :graph_id and name = :name

-- named_lock
-- One named workflow, locked for the rest of the operation: before its instances.
select {named.columns} from named
where graph_id = :graph_id and name = :name
{lock named}

-- named_take
-- The same, unless another server has it just now.
select {named.columns} from named
where graph_id = :graph_id and name = :name
{lock named} {skip_locked}

-- named_insert
-- A new named workflow, unless the name is taken.
insert into named ({named.names}) values ({named.values})
on conflict do nothing

-- named_update
-- The changed columns of one.
update named set {changes}
where graph_id = :graph_id and name = :name

-- named_delete
-- The workflow; its shards' numbers stay.
delete from named
where graph_id = :graph_id and name = :name

-- named_page
-- Named workflows by name.
select {named.columns} from named
where graph_id = :graph_id and name > :after
order by name
limit :limit

-- named_for_answers
-- Workflows that get the answers to a workflow's review items. Index: named_review.
select {named.columns} from named
where graph_id = :graph_id and review_of is not null and (cast(:of as text) is null or review_of = :of)
order by name

-- named_shard_page
-- What is known of a workflow's shards.
select {named_shard.columns} from named_shard
where graph_id = :graph_id and name = :name
order by shard

-- named_shard_insert
-- A shard that was not there before.
insert into named_shard ({named_shard.names}) values ({named_shard.values})
on conflict do nothing

-- named_shard_update
-- The changed columns of one.
update named_shard set {changes}
where graph_id = :graph_id and name = :name and shard = :shard

-- named_flight_insert
-- A message that was sent.
insert into named_flight ({named_flight.names}) values ({named_flight.values})

-- named_flight_page
-- Messages of a shard whose turns have not finished, the oldest first. Index: primary keys.
select {named_flight.columns} from named_flight
join turn on turn.graph_id = named_flight.graph_id
and turn.instance_id = named_flight.instance_id and turn.number = named_flight.turn
where named_flight.graph_id = :graph_id and named_flight.instance_id = :instance_id and turn.finished_at_ms is null
order by named_flight.turn

-- named_flight_land
-- Forget the messages whose turns have finished, or are gone.
delete from named_flight
where graph_id = :graph_id and instance_id = :instance_id
and not exists (
  select 1 from turn
  where turn.graph_id = named_flight.graph_id and turn.instance_id = named_flight.instance_id
  and turn.number = named_flight.turn and turn.finished_at_ms is null
)

-- named_flight_delete
-- All messages of a deleted shard: its turns' numbers begin anew.
delete from named_flight
where graph_id = :graph_id and instance_id = :instance_id

-- named_runs
-- Runs of all shards of a workflow, newest first. Index: run_of_workflow.
select {run.columns} from run
where graph_id = :graph_id and workflow = :workflow and run_id < :before
and (cast(:outcome as text) is null or outcome = :outcome)
order by run_id desc
limit :limit

-- named_run
-- One run of a workflow. Index: run_of_workflow.
select {run.columns} from run
where graph_id = :graph_id and workflow = :workflow and run_id = :run_id

-- named_run_totals
-- How runs ended that began since a time, and how long they took. Index: run_of_workflow.
select outcome, count(*), sum(ended_at_ms - started_at_ms) from run
where graph_id = :graph_id and workflow = :workflow and run_id >= :first
group by outcome

-- named_run_reports
-- What runs told that began since a time, the newest first. Index: run_of_workflow.
select usage, results from run
where graph_id = :graph_id and workflow = :workflow and run_id >= :first
and (usage is not null or results is not null)
order by run_id desc
limit :limit

-- named_run_results
-- Runs that told what they did with their inputs, the newest first. Index: run_of_workflow.
select run_id, turn, ended_at_ms, results from run
where graph_id = :graph_id and workflow = :workflow and run_id <= :through and results is not null
and (cast(:run_id as text) is null or run_id = :run_id)
order by run_id desc
limit :limit
