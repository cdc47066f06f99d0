-- A plus before a column keeps SQLite, which has no statistics here, from an index on it that finds far more rows.

-- fact_current
-- All fields that a list of records has now. Index: primary key.
select {fact.columns} from ({each ids}) asked cross join fact
where graph_id = :graph_id and entity_id = asked.id and to_seq is null

-- fact_at
-- All fields of one record as a commit left them.
select {fact.columns} from fact
where graph_id = :graph_id and entity_id = :entity_id
and +from_seq <= :seq and (to_seq is null or to_seq > :seq)
order by property_id

-- fact_history
-- Values of one record's fields, the newest first.
select {fact.columns} from fact
where graph_id = :graph_id and entity_id = :entity_id
order by +from_seq desc, property_id
limit :limit

-- fact_page_at
-- Every field as a commit left it. Index: primary key.
select {fact.columns} from fact
where graph_id = :graph_id and (entity_id, property_id, from_seq) > (:after, :after_property, :after_seq)
and from_seq <= :seq and (to_seq is null or to_seq > :seq)
order by entity_id, property_id, from_seq
limit :limit

-- fact_began_in
-- Rows that began in a range of commits. Index: fact_began.
select {fact.columns} from fact
where graph_id = :graph_id and from_seq > :from_seq and from_seq <= :to_seq

-- fact_ended_in
-- Rows that ended in a range of commits. Index: fact_ended.
select {fact.columns} from fact
where graph_id = :graph_id and to_seq > :from_seq and to_seq <= :to_seq and to_seq is not null

-- fact_of_property
-- One present field of a property.
select 1 from fact
where graph_id = :graph_id and property_id = :property_id and to_seq is null
limit 1

-- fact_insert
-- A new value.
insert into fact ({fact.names}) values ({fact.values})

-- fact_end
-- The value is valid up to a commit.
update fact set to_seq = :to_seq
where graph_id = :graph_id and entity_id = :entity_id and property_id = :property_id and from_seq = :from_seq
