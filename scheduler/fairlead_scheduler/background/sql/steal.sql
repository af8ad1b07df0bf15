-- steal: take back what dead workers hold, and attempts that are long past their deadline, in a stretch of
--        work_queue's pages behind %(after)s: at most %(limit)s of them. Returns the jobs it took with their
--        queues, kinds and new states, and where the next stretch begins, null at the end of the table.
--        Locked rows are skipped; the next round over the table comes back to them.
-- locks: the leader's row (for key share), then as fairlead._end_attempts with skip_locked.
-- index: none of work_queue: it is read by the place of its rows, so that dead ones cost no more than
--        their pages; worker_leases_pkey, jobs_pkey
with stretch as materialized (
    select s.until, format('(%%s,0)', s.until)::tid as place
    from (select (%(after)s::tid::text::point)[0] + %(pages)s::integer as until) s
), found as materialized (
    select q.job_id, q.token, q.ctid as place,
           case when w.dead then 'its worker was lost' else 'it ran past its deadline' end as error
    from fairlead.work_queue q
    cross join lateral (
        select coalesce(bool_and(l.dead_at is not null), true) as dead
        from fairlead.worker_leases l where l.id = q.worker offset 0) w
    where q.ctid > %(after)s::tid and q.ctid < (select s.place from stretch s)
      and q.worker is not null
      and (w.dead or q.deadline < now() - make_interval(secs => %(overdue_seconds)s))
    limit %(limit)s
), listed as materialized (
    select array_agg(f.job_id) as ids, array_agg(f.token) as tokens, array_agg(f.error) as errors,
           max(f.place) as reached, count(*) as jobs
    from found f
)
select coalesce(s.ids, '{}') as stolen, coalesce(s.queues, '{}') as queues,
       coalesce(s.kinds, '{}') as kinds, coalesce(s.became, '{}') as became,
       case when l.jobs >= %(limit)s then l.reached
            when t.until < pg_relation_size('fairlead.work_queue')
                           / current_setting('block_size')::bigint then t.place end::text as next
from listed l cross join stretch t cross join lateral (
    select array_agg(e.job_id) as ids, array_agg(j.queue) as queues, array_agg(j.kind) as kinds,
           array_agg(e.became) as became
    from fairlead._steal(%(epoch)s, l.ids, l.tokens, l.errors) e
    cross join lateral (
        select k.queue, k.kind from fairlead.jobs k where k.id = e.job_id offset 0) j) s
