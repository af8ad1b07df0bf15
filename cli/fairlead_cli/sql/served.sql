-- served: the tenants that had most of the slots of late, by the last report of each pool.
-- locks: none
-- index: none; fairness_reports has one row for each pool, and a report is bounded.
select s.* from fairlead.tenant_shares s
order by s.slot_seconds desc, s.queue, s.tenant limit %(limit)s
