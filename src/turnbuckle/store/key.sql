-- key_get
-- A key that may be used.
select environment, scope, role, scope_id from api_key
where key_hash = :key_hash and revoked_at_ms is null

-- key_insert
-- A new key; of the key itself only the hash and the last four characters are kept.
insert into api_key (key_hash, label, hint, environment, scope, role, created_at_ms, scope_id)
values (:key_hash, :label, :hint, :environment, :scope, :role, :now_ms, :scope_id)
on conflict do nothing

-- key_page
-- All keys, newest first.
select key_hash, label, hint, environment, scope, role, created_at_ms, revoked_at_ms, scope_id
from api_key
order by created_at_ms desc, key_hash

-- key_revoke
-- A key that may no longer be used.
update api_key set revoked_at_ms = :now_ms
where key_hash = :key_hash and revoked_at_ms is null
