-- policy_followed: the newest policy version that no leader has refused since one had it in force.
-- locks: none
-- index: policy_versions_pkey, policy_events_once
select v.version, v.digest, v.author, v.reason, v.stored_at, v.document
from fairlead.policy_versions v
where not exists (
    select from fairlead.policy_events r
    where r.version = v.version and r.event = 'refused' and not exists (
        select from fairlead.policy_events f
        where f.version = v.version and f.event = 'in_force' and f.id > r.id))
order by v.version desc limit 1
