-- hand_back: put up to %(limit)s jobs of a dead worker, from one id on, back into the queue, unpunished.
-- locks: the jobs rows by id (skip locked), then their work_queue rows.
-- index: none of work_queue: it is shallow and read whole.
select e.job_id, e.became
from (
    select array_agg(h.job_id order by h.job_id) as ids,
           array_agg(h.token order by h.job_id) as tokens, count(*)::integer as jobs
    from (
        select q.job_id, q.token from fairlead.work_queue q
        where q.worker = %(id)s and q.job_id > %(after)s and exists (
            select from fairlead.worker_leases w
            where w.id = %(id)s and w.dead_at is not null)
        order by q.job_id limit %(limit)s) h
) held
cross join lateral fairlead._end_attempts(
    held.ids, held.tokens, array_fill('released'::text, array[held.jobs]),
    array_fill('its worker was released by hand'::text, array[held.jobs]),
    array_fill(null::interval, array[held.jobs]), true) e
where held.jobs > 0
