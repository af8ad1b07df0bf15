-- may_read_policy: whether this login may read the policy and what became of it.
-- locks: none
-- index: none
select has_table_privilege('fairlead.policy_versions', 'select')
   and has_table_privilege('fairlead.policy_events', 'select') as may
