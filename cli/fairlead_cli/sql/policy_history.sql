-- policy_history: the newest stored policies, each with what became of it last, whether it is in force, with
--                 its rules that had to be disabled, and with the database's clock.
-- locks: none
-- index: policy_versions_pkey, policy_events_pkey, policy_events_once
select v.version, v.stored_at, v.author, v.digest, v.reason, e.event, e.at as event_at, e.epoch, e.said,
       coalesce(e.event = 'in_force' and v.version = (
           select f.version from fairlead.policy_events f
           where f.event = 'in_force' order by f.id desc limit 1), false) as in_force,
       array(select distinct d.rule from fairlead.policy_events d
             where d.version = v.version and d.event = 'rule_disabled') as disabled_rules,
       clock_timestamp() as now
from fairlead.policy_versions v
left join lateral (
    select e.event, e.at, e.epoch, e.said from fairlead.policy_events e
    where e.version = v.version and e.event <> 'rule_disabled' order by e.id desc limit 1) e on true
order by v.version desc limit %(limit)s
