-- graph_commit_get
-- One commit.
select {graph_commit.columns} from graph_commit
where graph_id = :graph_id and commit_seq = :commit_seq

-- graph_commit_insert
-- A new commit.
insert into graph_commit ({graph_commit.names}) values ({graph_commit.values})

-- commit_key_get
-- The first answer under a key.
select {commit_key.columns} from commit_key
where graph_id = :graph_id and key = :key

-- commit_key_insert
-- The first answer under a key.
insert into commit_key ({commit_key.names}) values ({commit_key.values})
