-- forget_workers: delete workers that have been dead for a day and hold nothing.
-- locks: the leader's row (for key share), workers by when they died (skip locked).
-- index: worker_leases_dead, worker_leases_pkey, leaders_pkey; work_queue is shallow and read whole.
with lead as materialized (
    select %(epoch)s::bigint as epoch where fairlead._leads(%(epoch)s)
), holding as materialized (
    select q.worker from fairlead.work_queue q
    where q.worker is not null and q.deadline > '-infinity'
)
delete from fairlead.worker_leases w
where w.id = any (array(
    select d.id from fairlead.worker_leases d
    where d.dead_at < now() - interval '1 day' and exists (select from lead)
      and d.id <> all (array(select h.worker from holding h))
    order by d.dead_at limit %(limit)s
    for update skip locked))
