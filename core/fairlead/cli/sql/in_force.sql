-- in_force: the policy document that is in force: the last one of which a leader has said so.
-- locks: none
-- index: policy_versions_pkey, policy_events_once
select v.document from fairlead.policy_versions v
where exists (
    select from fairlead.policy_events e where e.version = v.version and e.event = 'in_force')
order by v.version desc limit 1
