-- anonymous_token_get
-- A token by its hash.
select {anonymous_token.columns} from anonymous_token
where token_hash = :token_hash

-- anonymous_token_insert
-- A new token; of the token itself only the hash is kept.
insert into anonymous_token ({anonymous_token.names}) values ({anonymous_token.values})
on conflict do nothing

-- anonymous_token_remove_expired
-- Tokens that nobody can use any more. Index: anonymous_token_expired.
delete from anonymous_token
where expires_at_ms < :before_ms
