-- dispatch: move planned jobs of one pool and band into work_queue, raise the floor and record the use of
--           rates, in one statement that does nothing under another leader's epoch. Returns the ids that it
--           moved; a missing one is locked, gone, queued or no longer pending, or of one of %(kinds)s and not
--           counted for its kind's limit: see %(counted)s. The ids come sorted: a job finds its tag by its
--           place among them. Workers that are named in lists, or all of them by an empty one, are notified when it
--           commits, which spares the jobs that wait for nothing else a round trip.
-- locks: the leader's row (for key share), rate_usage, jobs rows by id (for key share, skip locked), then
--        work_queue. It looks there first, because a conflict waits for the holder of that row, such as a
--        completion, which waits for the job in its turn. A leader sends one dispatch at a time, so
--        this statement sees every row that is there.
-- order: locked by id, inserted by tag. Tags grow, so most entries then go to the last page of the claim
--        order, which PostgreSQL finds at once where it would descend from the root for each, and a claim
--        finds its rows side by side.
-- index: leaders_pkey, jobs_pkey, work_queue_pkey, rate_usage_once. The condition on epoch holds always:
--        without it an index would do alone, and of an empty table PostgreSQL 15 and 16 then take the
--        claim order.
with lead as materialized (
    select %(epoch)s::bigint as epoch where fairlead._leads(%(epoch)s)
), woken as materialized (
    select fairlead._notify('fairlead_work', w.named) from unnest(%(workers)s::text[]) as w (named), lead
), floor as (
    update fairlead.claim_floors f set vtag = %(floor)s
    where f.pool = %(pool)s and f.band = %(band)s and f.vtag <> %(floor)s
      and exists (select from lead)
), used as (
    insert into fairlead.rate_usage as r (pool, queue, tenant, per_us, tat_us)
    select %(pool)s, u.queue, u.tenant, u.per_us, u.tat_us
    from jsonb_to_recordset(%(used)s::jsonb)
         u (queue text, tenant text, per_us bigint, tat_us bigint)
    where exists (select from lead)
    on conflict (pool, queue, tenant, per_us) do update set tat_us = excluded.tat_us
), queued as materialized (
    select q.job_id from fairlead.work_queue q
    where q.job_id = any (%(ids)s::bigint[]) and q.epoch >= 0
), picked as materialized (
    select j.id, j.queue, j.tenant, j.due_at, j.created_at, j.timeout, j.suspect,
           width_bucket(j.id, %(ids)s::bigint[]) as place
    from fairlead.jobs j
    where j.id = any (%(ids)s::bigint[]) and j.run_at is null and exists (select from lead)
      and (select count(*) from woken) >= 0
      and j.id <> all (array(select q.job_id from queued q))
      and (%(kinds)s::text[] is null or j.kind <> all (%(kinds)s::text[]) or j.id = any (%(counted)s::bigint[]))
    order by j.id
    for key share skip locked
)
insert into fairlead.work_queue (
    job_id, vtag, estimate_us, epoch, runnable_at, timeout, timeout_max, band, alone, pool,
    queue, tenant)
select p.id, (%(vtags)s::bigint[])[p.place] as vtag, (%(estimates_us)s::bigint[])[p.place], %(epoch)s,
       least(greatest(coalesce(p.due_at, p.created_at),
                      to_timestamp((%(seen_us)s::bigint[])[p.place] / 1e6)), now()),
       greatest(least(coalesce(p.timeout, %(timeout_default)s::interval), %(timeout_max)s::interval),
                interval '1 ms'),
       %(timeout_max)s::interval,
       %(band)s, p.suspect, %(pool)s, p.queue, p.tenant
from picked p
order by vtag, p.id
returning job_id
