-- may_enqueue: whether this login may insert jobs, of whatever tenant.
-- locks: none
-- index: none
select has_column_privilege('fairlead.jobs', 'kind', 'insert') as may
