-- dispatch: move planned jobs of one pool and band into work_queue and raise the floor, in one
--           statement that does nothing under another leader's epoch. Answers the ids it moved; one
--           that is missing is locked, gone, or no longer pending.
-- locks: the leader's row (for share), jobs rows by id (for key share, skip locked: the caller sorts
--        the ids), then work_queue. It looks there first, because a conflict waits for whoever holds
--        that row, such as a completion, which waits for the job in its turn. A leader sends one
--        dispatch at a time, so this statement sees every row that is there.
-- index: leaders_pkey, jobs_pkey, work_queue_pkey
with lead as materialized (
    select l.epoch from fairlead.leaders l
    where l.role = 'scheduler' and l.epoch = %(epoch)s for share
), floor as (
    update fairlead.claim_floors f set vtag = %(floor)s
    where f.pool = %(pool)s and f.band = %(band)s and f.vtag <> %(floor)s
      and exists (select from lead)
)
insert into fairlead.work_queue (
    job_id, vtag, estimate_us, epoch, runnable_at, timeout, band, alone, pool, queue, tenant)
select j.id, p.vtag, p.estimate_us, %(epoch)s,
       greatest(coalesce(j.due_at, j.created_at), to_timestamp(p.seen_us / 1e6)),
       least(coalesce(j.timeout, %(timeout_default)s::interval), %(timeout_max)s::interval),
       %(band)s, j.crashes >= 1 or j.losses >= 3, %(pool)s, j.queue, j.tenant
from unnest(%(ids)s::bigint[], %(vtags)s::bigint[], %(estimates_us)s::bigint[], %(seen_us)s::bigint[])
    as p (job_id, vtag, estimate_us, seen_us)
cross join lateral (
    select j.id, j.queue, j.tenant, j.due_at, j.created_at, j.timeout, j.crashes, j.losses
    from fairlead.jobs j
    where j.id = p.job_id and j.run_at is null and exists (select from lead)
      and not exists (select from fairlead.work_queue q where q.job_id = p.job_id offset 0)
    for key share skip locked) j
on conflict (job_id) do nothing
returning job_id
