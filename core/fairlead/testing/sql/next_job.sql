-- next_job: the next job of a drain: pending, not paused, of these queues (null: all),
--               and none that was passed over. Higher priority first, then by place; of the oldest
--               thousand, so that it reads no backlog whole.
-- locks: none.
-- index: jobs_pkey, work_queue_pkey, paused_once
select p.id
from (
    select w.id, w.queue, w.tenant
    from (
        select j.id, j.rank, j.seq, j.queue, j.tenant from fairlead.jobs j
        where j.id > 0 and j.run_at is null and j.id <> all (%(passed)s::bigint[])
          and (%(queues)s::text[] is null or j.queue = any (%(queues)s::text[]))
        order by j.id limit 1000) w
    order by w.rank, w.seq offset 0) p
where not exists (select from fairlead.work_queue q where q.job_id = p.id offset 0)
  and not exists (
      select from fairlead.paused s
      where s.queue = p.queue and (s.tenant is null or s.tenant = p.tenant)
        and (s.until is null or s.until > now()) offset 0)
limit 1
