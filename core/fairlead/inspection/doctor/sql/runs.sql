-- runs: when the jobs that ended last, and those that workers hold, had slots.
-- locks: none
-- index: job_history_id
(select h.queue, h.tenant, h.claimed_at, h.finished_at
 from fairlead.job_history h order by h.id desc limit %(endings)s)
union all
(select q.queue, q.tenant, q.claimed_at, null
 from fairlead.work_queue q where q.claimed_at is not null limit 10000)
