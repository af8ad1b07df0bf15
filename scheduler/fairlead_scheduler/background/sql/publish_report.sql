-- publish_report: publish a pool's fairness report; does nothing under another leader's epoch.
-- locks: the leader's row (for key share), fairness_reports by pool.
-- index: leaders_pkey, fairness_reports_pkey
with lead as materialized (
    select %(epoch)s::bigint as epoch where fairlead._leads(%(epoch)s)
)
insert into fairlead.fairness_reports as r (pool, epoch, since, at, report)
select %(pool)s, l.epoch,
       timestamptz 'epoch' + %(since_us)s::bigint * interval '1 us',
       timestamptz 'epoch' + %(at_us)s::bigint * interval '1 us', %(report)s::jsonb
from lead l
on conflict (pool) do update
set epoch = excluded.epoch, since = excluded.since, at = excluded.at, report = excluded.report
