-- ended_elsewhere: how attempts of jobs ended under workers that do not count that themselves: the queue and kind,
--                  how, and whether the job finished with it. What was stolen is left out: the steal counts it.
--                  Of an attempt that ended without finishing its job the newest error says how, or else where
--                  the job went.
-- locks: none.
-- index: worker_leases_pkey, job_history_id, jobs_pkey, attempt_errors_job
select coalesce(h.queue, j.queue) as queue, coalesce(h.kind, j.kind) as kind,
       coalesce(h.outcome, e.ended_as, case when j.run_at is null then 'returned' else 'snoozed' end) as ended_as,
       h.outcome is not null as is_finished
from unnest(%(ids)s::bigint[], %(workers)s::bigint[]) as a (job_id, worker)
cross join lateral (
    select from fairlead.worker_leases w where w.id = a.worker and not w.releases_slots offset 0) w
left join lateral (
    select h.queue, h.kind, h.outcome, h.token from fairlead.job_history h
    where h.id = a.job_id and h.worker = a.worker and h.finished_at > now() - interval '1 day' offset 0) h on true
left join lateral (
    select j.queue, j.kind, j.run_at from fairlead.jobs j where j.id = a.job_id offset 0) j on true
left join lateral (
    select e.ended_as from fairlead.attempt_errors e
    where e.job_id = a.job_id and e.at > now() - interval '1 minute' and (h.token is null or e.token = h.token)
    order by e.at desc limit 1) e on true
where coalesce(h.kind, j.kind) is not null and e.ended_as is distinct from 'lost'
