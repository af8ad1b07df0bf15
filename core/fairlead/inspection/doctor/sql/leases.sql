-- leases: workers that are not known to be dead, for how long their leases have lapsed, and the jobs they hold.
-- locks: none
-- index: none: there is one row per process, and work_queue is shallow.
--
-- An instant of 'infinity' is clamped: PostgreSQL before 17 subtracts none.
select w.id, w.name, w.pool, w.slots,
       clock_timestamp() - greatest(least(w.lease_until, '9999-01-01+00'), '1970-01-01+00') as lapsed,
       coalesce(q.jobs, 0) as jobs
from fairlead.worker_leases w
left join (
    select q.worker, count(*) as jobs from fairlead.work_queue q
    where q.worker is not null group by q.worker) q on q.worker = w.id
where w.dead_at is null order by w.lease_until, w.id limit 10000
