-- delete_reports: delete the fairness reports of all pools but these; does nothing under another leader's
--                 epoch.
-- locks: the leader's row (for key share), then the rows of the other pools.
-- index: leaders_pkey, fairness_reports_pkey
with lead as materialized (
    select %(epoch)s::bigint as epoch where fairlead._leads(%(epoch)s)
)
delete from fairlead.fairness_reports r using lead
where r.pool > '' and r.pool <> all (%(pools)s::text[])
