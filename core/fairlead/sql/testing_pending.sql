-- testing_pending: the next jobs that are due and not queued, in the order they came, with the epoch
--                  and the floor that a dispatch must name. For an application's tests.
-- locks: none.
-- index: leaders_pkey, claim_floors_pkey, jobs_pkey, work_queue_pkey
select j.id, l.epoch, f.vtag
from fairlead.leaders l
cross join lateral (
    select c.vtag from fairlead.claim_floors c
    where c.pool = %(pool)s and c.band = 0 offset 0) f
cross join lateral (
    select p.id from fairlead.jobs p
    where p.run_at is null and p.id > 0
      and not exists (select from fairlead.work_queue q where q.job_id = p.id offset 0)
    order by p.id limit %(limit)s offset 0) j
where l.role = 'scheduler'
