-- policy_version: one stored policy, or the newest.
-- locks: none
-- index: policy_versions_pkey
select v.version, v.digest, v.author, v.reason, v.stored_at, v.document
from fairlead.policy_versions v
where %(version)s::bigint is null or v.version = %(version)s
order by v.version desc limit 1
