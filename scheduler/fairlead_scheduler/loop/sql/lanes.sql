-- lanes: the first pending job of every stream (queue, tenant, rank), by jumping from one stream to the
--        next; what is in work_queue is passed over. With it the stream's last job. As columns, and which
--        transactions the snapshot has in progress, and its upper bound.
-- locks: none.
-- index: jobs_lane, work_queue_pkey
with recursive stream as (
    (select j.queue, j.tenant, j.rank from fairlead.jobs j where j.run_at is null
     order by j.queue, j.tenant, j.rank limit 1)
    union all
    select n.queue, n.tenant, n.rank from stream s cross join lateral (
        select j.queue, j.tenant, j.rank from fairlead.jobs j
        where j.run_at is null and (j.queue, j.tenant, j.rank) > (s.queue, s.tenant, s.rank)
        order by j.queue, j.tenant, j.rank limit 1) n
)
select (extract(epoch from now()) * 1e6)::bigint as now_us,
       array_agg(f.id) as ids, array_agg(f.seq) as seqs, array_agg(f.queue) as queues,
       array_agg(f.tenant) as tenants, array_agg(f.rank) as ranks,
       array_agg(fairlead._epoch_us(coalesce(f.due_at, f.created_at))) as since_us,
       array_agg(l.id) as last_ids, array_agg(l.seq) as last_seqs,
       (select array_agg(x::text::bigint) from pg_snapshot_xip(pg_current_snapshot()) x) as in_progress,
       pg_snapshot_xmax(pg_current_snapshot())::text::bigint as xmax
from stream s
cross join lateral (
    select j.id, j.seq, j.queue, j.tenant, j.rank, j.due_at, j.created_at from fairlead.jobs j
    where j.run_at is null and j.queue = s.queue and j.tenant = s.tenant and j.rank = s.rank
      and not exists (select from fairlead.work_queue q where q.job_id = j.id offset 0)
    order by j.seq limit 1) f
cross join lateral (
    select j.id, j.seq from fairlead.jobs j
    where j.run_at is null and j.queue = s.queue and j.tenant = s.tenant and j.rank = s.rank
    order by j.seq desc limit 1) l
