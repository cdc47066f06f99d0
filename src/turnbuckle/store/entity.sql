-- A plus before a column keeps SQLite, which has no statistics here, from an index on it that finds far more rows.

-- entity_current
-- Records that are there now, of a list of ids. Index: primary key.
select {entity.columns} from ({each ids}) asked cross join entity
where graph_id = :graph_id and entity_id = asked.id and to_seq is null

-- entity_known
-- Which ids of a list belong to a record of now or earlier. Index: primary key.
select distinct entity_id from ({each ids}) asked cross join entity
where graph_id = :graph_id and entity_id = asked.id

-- entity_at
-- One record as a commit left it.
select {entity.columns} from entity
where graph_id = :graph_id and entity_id = :entity_id
and +from_seq <= :seq and (to_seq is null or to_seq > :seq)

-- entity_history
-- All rows of one record, the newest first.
select {entity.columns} from entity
where graph_id = :graph_id and entity_id = :entity_id
order by +from_seq desc
limit :limit

-- entity_of_class_page
-- Records of one class by id. Index: entity_of_class.
select {entity.columns} from entity
where graph_id = :graph_id and class_id = :class_id and entity_id > :after and to_seq is null
order by entity_id
limit :limit

-- entity_count
-- How many records each class has. Index: entity_of_class.
select class_id, count(*) from entity
where graph_id = :graph_id and to_seq is null
group by class_id

-- entity_page_at
-- Every record as a commit left it, by id. Index: primary key.
select {entity.columns} from entity
where graph_id = :graph_id and (entity_id, from_seq) > (:after, :after_seq)
and from_seq <= :seq and (to_seq is null or to_seq > :seq)
order by entity_id, from_seq
limit :limit

-- entity_began_in
-- Rows that began in a range of commits. Index: entity_began.
select {entity.columns} from entity
where graph_id = :graph_id and from_seq > :from_seq and from_seq <= :to_seq

-- entity_ended_in
-- Rows that ended in a range of commits. Index: entity_ended.
select {entity.columns} from entity
where graph_id = :graph_id and to_seq > :from_seq and to_seq <= :to_seq and to_seq is not null

-- entity_insert
-- A record under a new name.
insert into entity ({entity.names}) values ({entity.values})

-- entity_end
-- The row is valid up to a commit.
update entity set to_seq = :to_seq
where graph_id = :graph_id and entity_id = :entity_id and from_seq = :from_seq
