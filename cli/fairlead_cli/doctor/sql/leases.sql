-- leases: workers that are not known to be dead, for how long their leases have lapsed, and the jobs they hold.
-- locks: none
-- index: none: there is one row per process, and work_queue is shallow.
select w.id, w.name, w.pool, w.slots, clock_timestamp() - w.lease_until as lapsed,
       coalesce(q.jobs, 0) as jobs
from fairlead.worker_leases w
left join (
    select q.worker, count(*) as jobs from fairlead.work_queue q
    where q.worker is not null group by q.worker) q on q.worker = w.id
where w.dead_at is null order by w.lease_until, w.id limit 10000
