-- policy_in_force: the policy version in force: the last one of which a leader has said so, unless one has
--                  refused it since.
-- locks: none
-- index: policy_events_pkey, policy_events_once, policy_versions_pkey
select v.version, v.digest, v.author, v.reason, v.stored_at, v.document
from (
    select e.id, e.version from fairlead.policy_events e
    where e.event = 'in_force' order by e.id desc limit 1) f
join fairlead.policy_versions v on v.version = f.version
where not exists (
    select from fairlead.policy_events r
    where r.version = f.version and r.event = 'refused' and r.id > f.id)
