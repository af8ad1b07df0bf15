-- promote_turns: make jobs pending that fell due from %(from_us)s on, of one lane after another: of %(lanes)s
--                lanes behind one, at most %(lane_jobs)s each and %(limit)s in all. Each lane's are those that
--                fell due first. Answers one row: the promoted jobs by columns, how many lanes had any,
--                and the lane to go on behind, null at the end.
-- locks: the leader's row (for key share), then jobs rows by lane and instant (for update, skip locked).
-- index: jobs_lane_times, jobs_pkey, leaders_pkey. Compared together with the id, which changes nothing, an
--        instant does not imply the condition of the index by instants alone: after ANALYZE the planner
--        took that one, read all that was due for each lane and sorted it.
with recursive lead as materialized (
    select %(epoch)s::bigint as epoch where fairlead._leads(%(epoch)s)
), lane as (
    (select j.queue, j.tenant, j.run_at from fairlead.jobs j
     where num_nonnulls(j.run_at, j.expires_at) > 0
       and (j.queue, j.tenant) > (%(after_queue)s, %(after_tenant)s) and exists (select from lead)
     order by j.queue, j.tenant, j.run_at limit 1)
    union all
    select n.queue, n.tenant, n.run_at from lane l cross join lateral (
        select j.queue, j.tenant, j.run_at from fairlead.jobs j
        where num_nonnulls(j.run_at, j.expires_at) > 0
          and (j.queue, j.tenant) > (l.queue, l.tenant)
        order by j.queue, j.tenant, j.run_at limit 1) n
), walked as materialized (
    select l.queue, l.tenant, l.run_at from lane l limit %(lanes)s
), due as materialized (
    select d.id, w.queue, w.tenant from walked w cross join lateral (
        select j.id from fairlead.jobs j
        where num_nonnulls(j.run_at, j.expires_at) > 0 and j.queue = w.queue and j.tenant = w.tenant
          and (j.run_at, j.id) >= (fairlead._scan_from(%(from_us)s), 0)
          and (j.run_at, j.id) <= (now(), 9223372036854775807)
        order by j.run_at, j.expires_at limit %(lane_jobs)s for update skip locked) d
    where w.run_at <= now()
    limit %(limit)s
), promoted as (
    update fairlead.jobs j set due_at = j.run_at, run_at = null, seq = nextval('fairlead.places')
    where j.id = any (array(select d.id from due d))
    returning j.id, j.seq, j.queue, j.tenant, j.rank, j.cost_hint
), turn as (
    select f.lanes, case when f.jobs >= %(limit)s then f.queue
                         when w.lanes >= %(lanes)s then w.queue end as next_queue,
           case when f.jobs >= %(limit)s then f.tenant
                when w.lanes >= %(lanes)s then w.tenant end as next_tenant
    from (
        select count(*) as jobs,
               (select count(*) from (select from due d group by d.queue, d.tenant) g) as lanes,
               (array_agg(d.queue))[count(*)] as queue, (array_agg(d.tenant))[count(*)] as tenant
        from due d
    ) f cross join (
        select count(*) as lanes, (array_agg(v.queue))[count(*)] as queue,
               (array_agg(v.tenant))[count(*)] as tenant
        from walked v
    ) w
)
select p.*, t.lanes, t.next_queue, t.next_tenant
from turn t cross join (
    select array_agg(p.id) as ids, array_agg(p.seq) as seqs, array_agg(p.queue) as queues,
           array_agg(p.tenant) as tenants, array_agg(p.rank) as ranks,
           case when count(p.cost_hint) > 0
                then array_agg(fairlead._span_us(p.cost_hint)) end as hints_us
    from promoted p) p
