-- policies: the newest versions of the policy above %(after)s and below %(before)s (null: no bound), the
--           newest first, each with its rules that had to be disabled.
-- locks: none.
-- index: policy_versions_pkey, policy_events_once
select v.version, v.document, array(
    select e.rule from fairlead.policy_events e
    where e.version = v.version and e.event = 'rule_disabled') as disabled
from fairlead.policy_versions v
where v.version > %(after)s and v.version < coalesce(%(before)s, 9223372036854775807)
order by v.version desc limit %(limit)s
