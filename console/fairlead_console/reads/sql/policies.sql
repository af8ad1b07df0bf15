-- policies: stored policies before a version, the newest first, each with what became of it last.
-- locks: none
-- index: policy_versions_pkey, policy_events_once
select v.version, v.stored_at, v.author, v.reason, e.event, e.said, clock_timestamp() as now
from (
    select v.version, v.stored_at, v.author, v.reason from fairlead.policy_versions v
    where %(before)s::bigint is null or v.version < %(before)s
    order by v.version desc limit %(limit)s) v
left join lateral (
    select e.event, e.said from fairlead.policy_events e
    where e.version = v.version and e.event <> 'rule_disabled' order by e.id desc limit 1) e on true
order by v.version desc
