-- effect_get
-- One effect of a turn.
select {effect.columns} from effect
where graph_id = :graph_id and instance_id = :instance_id and turn = :turn and number = :number

-- effect_insert
-- A new effect, unless another request of the same step made it first.
insert into effect ({effect.names}) values ({effect.values})
on conflict do nothing

-- effect_update
-- The changed columns of one effect.
update effect set {changes}
where graph_id = :graph_id and instance_id = :instance_id and turn = :turn and number = :number

-- effect_of_turn
-- All effects of a turn, in the order they were meant.
select {effect.columns} from effect
where graph_id = :graph_id and instance_id = :instance_id and turn = :turn
order by intended_at_ms, number

-- effect_of_instance
-- A page of an instance's effects after one of them. Index: the primary key.
select {effect.columns} from effect
where graph_id = :graph_id and instance_id = :instance_id
and (turn > :turn or (turn = :turn and number > :number))
order by turn, number
limit :limit

-- effect_open
-- A page of a graph's effects that nobody has confirmed. Index: effect_open.
select {effect.columns} from effect
where graph_id = :graph_id and confirmed_at_ms is null
and (instance_id > :instance_id or (instance_id = :instance_id
and (turn > :turn or (turn = :turn and number > :number))))
order by instance_id, turn, number
limit :limit

-- effect_prune
-- Effects of pruned turns.
delete from effect
where graph_id = :graph_id and instance_id = :instance_id and turn <= :through

-- effect_delete
-- All effects of an instance.
delete from effect
where graph_id = :graph_id and instance_id = :instance_id
