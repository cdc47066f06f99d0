-- hub_schedule_get
-- One schedule.
select {hub_schedule.columns} from hub_schedule
where graph_id = :graph_id and schedule_id = :schedule_id

-- hub_schedule_lock
-- One schedule, locked for the rest of the operation: before the revision that it fires on.
select {hub_schedule.columns} from hub_schedule
where graph_id = :graph_id and schedule_id = :schedule_id
{lock hub_schedule}

-- hub_schedule_page
-- Schedules of a revision, newest first. Index: hub_schedule_number.
select {hub_schedule.columns} from hub_schedule
where graph_id = :graph_id and revision_id = :revision_id and number < :before
order by number desc
limit :limit

-- hub_schedule_count
-- How many a revision has. Index: hub_schedule_number.
select count(*) from hub_schedule
where graph_id = :graph_id and revision_id = :revision_id

-- hub_schedule_due
-- Schedules that are due, the longest first. Index: hub_schedule_due.
select graph_id, schedule_id from hub_schedule
where due_at_us <= :now_us
order by due_at_us
limit :limit

-- hub_schedule_insert
-- A new schedule, unless its alias is taken.
insert into hub_schedule ({hub_schedule.names}) values ({hub_schedule.values})
on conflict do nothing

-- hub_schedule_update
-- The changed columns of one.
update hub_schedule set {changes}
where graph_id = :graph_id and schedule_id = :schedule_id

-- hub_schedule_alias_holder
-- Which schedule of a revision has the alias. Index: hub_schedule_alias.
select schedule_id from hub_schedule
where graph_id = :graph_id and revision_id = :revision_id and alias = :alias

-- hub_schedule_delete
-- One schedule.
delete from hub_schedule
where graph_id = :graph_id and schedule_id = :schedule_id

-- hub_schedule_fire_insert
-- What came of one fire.
insert into hub_schedule_fire ({hub_schedule_fire.names}) values ({hub_schedule_fire.values})

-- hub_schedule_fire_page
-- Fires of a schedule, newest first.
select {hub_schedule_fire.columns} from hub_schedule_fire
where graph_id = :graph_id and schedule_id = :schedule_id and number < :before
order by number desc
limit :limit

-- hub_schedule_fire_number
-- The place of a fire among those of its schedule. Index: hub_schedule_fire_id.
select number from hub_schedule_fire
where graph_id = :graph_id and schedule_id = :schedule_id and fire_id = :fire_id

-- hub_schedule_fire_delete
-- All fires of one schedule.
delete from hub_schedule_fire
where graph_id = :graph_id and schedule_id = :schedule_id

-- hub_schedule_fire_forget
-- Fires that are older than that. Index: hub_schedule_fire_old.
delete from hub_schedule_fire
where created_at_us < :before_us
