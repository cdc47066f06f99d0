-- watch_get
-- How far a watch has read.
select {watch.columns} from watch
where graph_id = :graph_id and name = :name

-- watch_insert
-- A new watch.
insert into watch ({watch.names}) values ({watch.values})

-- watch_update
-- The changed columns of one.
update watch set {changes}
where graph_id = :graph_id and name = :name

-- watch_delete
-- The watch; its queue goes in pieces.
delete from watch
where graph_id = :graph_id and name = :name

-- watch_waiting
-- Watches with something to do: to read, to look for, or to send.
select named.graph_id, named.name from named
join graph on graph.graph_id = named.graph_id
join watch on watch.graph_id = named.graph_id and watch.name = named.name
where named.paused_at_ms is null
and (
  watch.through_seq < graph.head_seq
  or watch.ontology_version < graph.ontology_version
  or watch.pass_reason is not null
  or exists (
    select 1 from watch_link
    where watch_link.graph_id = watch.graph_id and watch_link.queue_id = watch.queue_id
  )
  or exists (
    select 1 from watch_item
    where watch_item.graph_id = watch.graph_id and watch_item.queue_id = watch.queue_id
    and watch_item.due_at_ms <= :now_ms
  )
)
order by named.graph_id, named.name

-- watch_item_some
-- Those of a list of records that wait. Index: primary key.
select {watch_item.columns} from watch_item
where graph_id = :graph_id and queue_id = :queue_id and entity_id in ({each ids})

-- watch_item_due
-- The first of a shard that may be sent. Index: watch_item_due.
select {watch_item.columns} from watch_item
where graph_id = :graph_id and queue_id = :queue_id and shard = :shard and due_at_ms <= :now_ms
order by due_at_ms, first_seq, entity_id
limit :limit

-- watch_item_next
-- When the next instance may be sent whose time has not come.
select min(watch_item.due_at_ms) from watch_item
join watch on watch.graph_id = watch_item.graph_id and watch.queue_id = watch_item.queue_id
where watch_item.due_at_ms > :now_ms

-- watch_item_page
-- What waits, by shard in the order in which it will be sent. Index: watch_item_due.
select {watch_item.columns} from watch_item
where graph_id = :graph_id and queue_id = :queue_id
and (shard, due_at_ms, first_seq, entity_id) > (:shard, :due_at_ms, :first_seq, :after)
order by shard, due_at_ms, first_seq, entity_id
limit :limit

-- watch_item_count
-- How many wait, how many of them have left the class, and since when the first might be sent.
select count(*), coalesce(sum(removed), 0), min(due_at_ms) from watch_item
where graph_id = :graph_id and queue_id = :queue_id

-- watch_item_all
-- Some of what waits, in any order.
select {watch_item.columns} from watch_item
where graph_id = :graph_id and queue_id = :queue_id
order by entity_id
limit :limit

-- watch_item_insert
-- An instance that waits.
insert into watch_item ({watch_item.names}) values ({watch_item.values})

-- watch_item_update
-- The changed columns of one.
update watch_item set {changes}
where graph_id = :graph_id and queue_id = :queue_id and entity_id = :entity_id

-- watch_item_delete
-- Those of a list of records wait no longer.
delete from watch_item
where graph_id = :graph_id and queue_id = :queue_id and entity_id in ({each ids})

-- watch_item_drop
-- A piece of an old queue.
delete from watch_item
where graph_id = :graph_id and queue_id = :queue_id and entity_id in (
  select entity_id from watch_item where graph_id = :graph_id and queue_id = :queue_id limit :limit
)

-- watch_link_first
-- A record whose sources are being looked for.
select {watch_link.columns} from watch_link
where graph_id = :graph_id and queue_id = :queue_id
order by target_id, relation_id
limit 1

-- watch_link_get
-- One of them.
select {watch_link.columns} from watch_link
where graph_id = :graph_id and queue_id = :queue_id and target_id = :target_id and relation_id = :relation_id

-- watch_link_insert
-- A new one.
insert into watch_link ({watch_link.names}) values ({watch_link.values})

-- watch_link_update
-- The changed columns of one.
update watch_link set {changes}
where graph_id = :graph_id and queue_id = :queue_id and target_id = :target_id and relation_id = :relation_id

-- watch_link_delete
-- All its sources were found.
delete from watch_link
where graph_id = :graph_id and queue_id = :queue_id and target_id = :target_id and relation_id = :relation_id

-- watch_link_drop
-- A piece of an old queue.
delete from watch_link
where graph_id = :graph_id and queue_id = :queue_id and target_id in (
  select target_id from watch_link where graph_id = :graph_id and queue_id = :queue_id limit :limit
)

-- watch_link_sources
-- Records that lead to one by a relation, by id. Index: edge_in.
select distinct source_id from edge
where graph_id = :graph_id and target_id = :target_id and relation_id = :relation_id and to_seq is null
and source_id > :after
order by source_id
limit :limit

-- watch_given_some
-- What a turn gave back of a list of records.
select {watch_given.columns} from watch_given
where graph_id = :graph_id and instance_id = :instance_id and turn = :turn and entity_id in ({each ids})

-- watch_given_insert
-- An instance that was given back.
insert into watch_given ({watch_given.names}) values ({watch_given.values})

-- watch_given_delete
-- All that turns of a deleted instance gave back.
delete from watch_given
where graph_id = :graph_id and instance_id = :instance_id

-- watch_given_old
-- Gifts of turns that are gone.
delete from watch_given
where (graph_id, instance_id, turn, entity_id) in (
  select g.graph_id, g.instance_id, g.turn, g.entity_id from watch_given g
  where not exists (
    select 1 from turn
    where turn.graph_id = g.graph_id and turn.instance_id = g.instance_id and turn.number = g.turn
  )
  limit :limit
)

-- watch_old_queue_insert
-- A queue whose rows go.
insert into watch_old_queue (graph_id, queue_id) values (:graph_id, :queue_id)
on conflict do nothing

-- watch_old_queue_first
-- One of them.
select graph_id, queue_id from watch_old_queue
order by graph_id, queue_id
limit 1

-- watch_old_queue_delete
-- Nothing of it is left.
delete from watch_old_queue
where graph_id = :graph_id and queue_id = :queue_id
