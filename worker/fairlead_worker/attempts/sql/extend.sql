-- extend: move deadlines of attempts to at least so many seconds from now. Returns each token with why its
--         attempt is to stop: lost, it no longer holds its job; cancelled, on request; expired, if it has
--         not begun; null, it goes on. A row that its handler's own transaction has locked keeps its
--         deadline: that handler is about to end.
-- locks: work_queue rows by job id (skip locked).
-- index: work_queue_pkey, jobs_pkey
with asked as materialized (
    select a.job_id, a.token, a.seconds
    from unnest(%(ids)s::bigint[], %(tokens)s::bigint[], %(seconds)s::float8[])
        as a (job_id, token, seconds)
), extended as (
    update fairlead.work_queue q
    set deadline = greatest(q.deadline, now() + make_interval(secs => (
        select max(a.seconds) from asked a where a.token = q.token)))
    where q.ctid = any (array(
        select w.ctid from fairlead.work_queue w
        where w.job_id = any (%(ids)s::bigint[]) and w.token = any (%(tokens)s::bigint[])
        order by w.job_id for update skip locked))
)
select a.token, case when h.held is null then 'lost' else c.stop end as stop
from asked a
left join lateral (
    select true as held from fairlead.work_queue q
    where q.job_id = a.job_id and q.token = a.token offset 0) h on true
left join lateral (
    select case when j.cancel_requested_at is not null then 'cancelled'
                when j.expires_at <= now() then 'expired' end as stop
    from fairlead.jobs j where j.id = a.job_id offset 0) c on true
