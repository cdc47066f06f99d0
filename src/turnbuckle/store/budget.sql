-- budget_get
-- What a named workflow may spend in a month.
select micro_usd_per_month from budget
where graph_id = :graph_id and workflow = :workflow

-- budget_put
-- The limit of a named workflow, new or changed.
insert into budget (graph_id, workflow, micro_usd_per_month)
values (:graph_id, :workflow, :micro_usd)
on conflict (graph_id, workflow) do update set micro_usd_per_month = excluded.micro_usd_per_month

-- budget_remove
-- A workflow without a limit of its own.
delete from budget
where graph_id = :graph_id and workflow = :workflow

-- spend_get
-- What a named workflow has spent in a month.
select micro_usd from spend
where graph_id = :graph_id and workflow = :workflow and month = :month

-- spend_add
-- Money spent by a named workflow.
insert into spend (graph_id, workflow, month, micro_usd)
values (:graph_id, :workflow, :month, :micro_usd)
on conflict (graph_id, workflow, month) do update set micro_usd = spend.micro_usd + excluded.micro_usd

-- environment_spend_get
-- What an environment has spent in a month.
select micro_usd from environment_spend
where environment = :environment and month = :month

-- environment_spend_add
-- Money spent in an environment.
insert into environment_spend (environment, month, micro_usd)
values (:environment, :month, :micro_usd)
on conflict (environment, month) do update set micro_usd = environment_spend.micro_usd + excluded.micro_usd
