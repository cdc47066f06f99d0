-- activity_lock
-- One activity, locked. Primary key.
select {activity.columns} from activity
where graph_id = :graph_id and job = :job and effect_id = :effect_id
{lock activity}

-- activity_get
-- One activity.
select {activity.columns} from activity
where graph_id = :graph_id and job = :job and effect_id = :effect_id

-- activity_insert
-- A new activity, unless another request made it first.
insert into activity ({activity.names}) values ({activity.values})
on conflict do nothing

-- activity_update
-- What changed of an activity.
update activity set {changes}
where graph_id = :graph_id and job = :job and effect_id = :effect_id

-- activity_remove
-- One activity.
delete from activity
where graph_id = :graph_id and job = :job and effect_id = :effect_id

-- activity_old
-- Activities that need not be kept any longer, the oldest first. Index: activity_keep.
select {activity.outline} from activity
where keep_until_ms < :before_ms
order by keep_until_ms
limit :limit

-- activity_turn
-- Whether the turn that made the call is still there. Primary key of turn.
select 1 from turn
where graph_id = :graph_id and instance_id = :instance_id and number = :turn
