-- change_after
-- What the commits after one changed. Index: primary key.
select {change.columns} from change
where graph_id = :graph_id and commit_seq > :after_seq
order by commit_seq, entity_id
limit :limit

-- change_rest_of
-- What one commit changed, from after a record. Index: primary key.
select {change.columns} from change
where graph_id = :graph_id and commit_seq = :seq and entity_id > :after_id
order by entity_id
limit :limit

-- change_insert
-- What a commit did to one record.
insert into change ({change.names}) values ({change.values})
