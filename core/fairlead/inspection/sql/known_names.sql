-- known_names: the queues and tenants of unfinished jobs, of schedules and of the jobs that ended last, at most
--              %(limit)s lanes by each of four ways, each name as often as it comes, and whether one of them met that
--              bound.
-- locks: none
-- index: jobs_lane, jobs_lane_times, schedules_pkey, job_history_id
with recursive due as (
    (select j.queue, j.tenant from fairlead.jobs j where j.run_at is null
     order by j.queue, j.tenant limit 1)
    union all
    select n.queue, n.tenant from due d cross join lateral (
        select j.queue, j.tenant from fairlead.jobs j
        where j.run_at is null and (j.queue, j.tenant) > (d.queue, d.tenant)
        order by j.queue, j.tenant limit 1) n
), timed as (
    (select j.queue, j.tenant from fairlead.jobs j where num_nonnulls(j.run_at, j.expires_at) > 0
     order by j.queue, j.tenant limit 1)
    union all
    select n.queue, n.tenant from timed t cross join lateral (
        select j.queue, j.tenant from fairlead.jobs j
        where num_nonnulls(j.run_at, j.expires_at) > 0 and (j.queue, j.tenant) > (t.queue, t.tenant)
        order by j.queue, j.tenant limit 1) n
), lane as materialized (
    (select d.queue, d.tenant, 'unfinished' as is_of from due d limit %(limit)s)
    union all
    (select t.queue, t.tenant, 'timed' from timed t limit %(limit)s)
    union all
    (select s.queue, s.tenant, 'schedules' from fairlead.schedules s
     order by s.tenant, s.name limit %(limit)s)
    union all
    (select h.queue, h.tenant, 'ended' from fairlead.job_history h order by h.id desc limit %(limit)s)
)
select array(select l.queue from lane l where l.is_of in ('unfinished', 'timed')) as waiting,
       array(select l.queue from lane l) as queues,
       array(select l.tenant from lane l) as tenants,
       exists (select from lane l where l.is_of <> 'ended' group by l.is_of
               having count(*) >= %(limit)s) as is_cut
