-- observe: the database's time, the snapshot's bounds, what is paused, and the new rows of jobs above id
--          %(last_id)s: every id, with its queue, tenant and rank while it is pending. A scheduled row has a
--          null rank, and the earliest run_at of these rows is returned; while the tail lags, the largest id
--          as well, and where asked for, the last that was drawn. unchecked are those with a value that no INSERT is admitted with: somebody stored them
--          without the trigger, and what the services read of them is clamped.
-- locks: none.
-- index: jobs_pkey, paused_once
with fresh as materialized (
    select j.id, j.seq, j.queue, j.tenant, j.run_at, j.cost_hint,
           case when j.run_at is null then j.rank end as rank,
           j.rank not between -100 and 100 or j.attempts not between 0 and 1000 or j.seq < 1
               or j.timeout not between interval '1 ms' and interval '30 days'
               or j.cost_hint not between interval '1 us' and interval '30 days'
               or least(j.run_at, j.expires_at, j.due_at, j.created_at) < '1970-01-01 00:00+00'
               or greatest(j.run_at, j.expires_at, j.due_at, j.created_at) >= '9999-01-01 00:00+00'
               as unchecked
    from fairlead.jobs j where j.id > %(last_id)s order by j.id limit %(limit)s
)
select (extract(epoch from now()) * 1e6)::bigint as now_us,
       pg_snapshot_xmin(pg_current_snapshot())::text::bigint as xmin,
       pg_snapshot_xmax(pg_current_snapshot())::text::bigint as xmax,
       p.queues as paused_queues, p.tenants as paused_tenants,
       case when %(lagging)s
            then (select j.id from fairlead.jobs j order by j.id desc limit 1) end as newest_id,
       f.ids, f.seqs, f.queues, f.tenants, f.ranks, f.hints_us, f.first_due_us,
       f.unchecked,
       case when %(drawn)s then pg_sequence_last_value('fairlead.jobs_id_seq') end as drawn_id
from (
    select array_agg(p.queue) as queues, array_agg(p.tenant) as tenants from fairlead.paused p
) p cross join (
    select array_agg(f.id) as ids, array_agg(f.seq) as seqs, array_agg(f.queue) as queues,
           array_agg(f.tenant) as tenants, array_agg(f.rank) as ranks,
           case when count(f.cost_hint) > 0
                then array_agg(fairlead._span_us(f.cost_hint)) end as hints_us,
           fairlead._epoch_us(min(f.run_at)) as first_due_us,
           array_agg(f.id) filter (where f.unchecked) as unchecked
    from fresh f
) f
