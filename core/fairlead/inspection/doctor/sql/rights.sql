-- rights: what this login may look at. Asked first, for a refusal would be an error in the server's log.
-- locks: none
-- index: none
select pg_has_role('pg_read_all_stats', 'usage') as sessions,
       fairlead._sees_all() as all_tenants,
       has_table_privilege('fairlead.leaders', 'select') as lead,
       has_table_privilege('fairlead.worker_leases', 'select')
           and has_table_privilege('fairlead.work_queue', 'select') as leases,
       has_table_privilege('fairlead.jobs', 'select') as jobs,
       has_table_privilege('fairlead.job_history', 'select') as history,
       has_table_privilege('fairlead.policy_versions', 'select')
           and has_table_privilege('fairlead.policy_events', 'select') as policy
