-- promote: make jobs pending that fell due from %(from_us)s on: each draws a new place and keeps the
--          instant in due_at. Answers one row of columns, with the database's time and the
--          next instant at which a job falls due.
-- locks: the leader's row (for key share), then jobs rows by the instant (for update, skip locked).
-- index: jobs_due, jobs_pkey, leaders_pkey
with lead as materialized (
    select where case when exists (
        select from fairlead.jobs j
        where j.run_at >= fairlead._scan_from(%(from_us)s) and j.run_at <= now())
        then fairlead._leads(%(epoch)s) end
), promoted as (
    update fairlead.jobs j set due_at = j.run_at, run_at = null, seq = nextval('fairlead.places')
    where j.id = any (array(
        select d.id from fairlead.jobs d
        where d.run_at >= fairlead._scan_from(%(from_us)s) and d.run_at <= now()
          and exists (select from lead)
        order by d.run_at limit %(limit)s
        for update skip locked))
    returning j.id, j.seq, j.queue, j.tenant, j.rank, j.cost_hint, j.due_at
)
select (extract(epoch from now()) * 1e6)::bigint as now_us,
       fairlead._epoch_us(max(p.due_at)) as reached_us,
       (select fairlead._epoch_us(j.run_at) from fairlead.jobs j
        where j.run_at > now() order by j.run_at limit 1) as next_us,
       array_agg(p.id) as ids, array_agg(p.seq) as seqs, array_agg(p.queue) as queues,
       array_agg(p.tenant) as tenants, array_agg(p.rank) as ranks,
       case when count(p.cost_hint) > 0
            then array_agg(fairlead._span_us(p.cost_hint)) end as hints_us
from promoted p
