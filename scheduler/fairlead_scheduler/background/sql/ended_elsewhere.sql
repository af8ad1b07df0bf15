-- ended_elsewhere: how attempts of jobs ended under workers that do not count that themselves: the queue and kind,
--                  how, and whether the job finished with it. What was stolen is left out: the steal counts it.
--                  Of an attempt that ended without finishing its job the newest error of the last minute says
--                  how, or else where the job went.
-- locks: none.
-- index: worker_leases_pkey, job_history_id, jobs_pkey, attempt_errors_job
select coalesce(h.queue, j.queue) as queue, coalesce(h.kind, j.kind) as kind,
       coalesce(h.outcome, e.ended_as, case when j.run_at is null then 'returned' else 'snoozed' end) as ended_as,
       h.outcome is not null as is_finished
from unnest(%(ids)s::bigint[], %(workers)s::bigint[]) as a (job_id, worker)
cross join lateral (
    select from fairlead.worker_leases w where w.id = a.worker and w.version = '' offset 0) w
left join lateral (
    select h.queue, h.kind, h.outcome, h.token from fairlead.job_history h
    where h.id = a.job_id and h.worker = a.worker and h.finished_at > now() - interval '1 day' offset 0) h on true
left join lateral (
    select j.queue, j.kind, j.run_at from fairlead.jobs j where j.id = a.job_id offset 0) j on true
cross join lateral (
    -- Of the newest hundred: a login may store as many of one job as it likes. Ordering by time alone would let the
    -- planner read all errors there are, from the latest on.
    select max(array[fairlead._epoch_us(e.at),
                     case e.ended_as when 'failed' then 1 when 'crashed' then 2 when 'lost' then 3
                                     else 4 end]) as last
    from (
        select l.job_id, l.token, l.at, l.ended_as from fairlead.attempt_errors l
        where (l.job_id, l.at) <= (a.job_id, 'infinity') order by l.job_id desc, l.at desc limit 100) e
    where e.job_id = a.job_id and (h.token is null or e.token = h.token)) newest
cross join lateral (
    select case when newest.last[1] > fairlead._epoch_us(now()) - 60000000
                then (array['failed', 'crashed', 'lost', 'released'])[newest.last[2]] end as ended_as) e
where coalesce(h.kind, j.kind) is not null and e.ended_as is distinct from 'lost'
