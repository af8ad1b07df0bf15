-- fire: insert the jobs of one schedule's fires, each fire once whichever leader fires it, as jobs of the login
--       that made the schedule, and record how far the schedule has been considered. Does nothing when the
--       schedule has changed since it was read; returns whether it was found unchanged, and how many jobs were
--       inserted.
-- locks: the leader's row (for share), the schedule, its fires.
-- index: leaders_pkey, schedules_pkey, schedule_fires_pkey
with lead as materialized (
    select %(epoch)s::bigint as epoch where fairlead._leads(%(epoch)s)
), schedule as materialized (
    select s.* from fairlead.schedules s
    where s.tenant = %(tenant)s and s.name = %(name)s and s.cron = %(cron)s and s.timezone = %(timezone)s
      and s.enabled and exists (select from lead)
    for update
), fires as (
    insert into fairlead.schedule_fires (tenant, schedule, fire_time)
    select s.tenant, s.name, f.fire_time
    from schedule s cross join unnest(%(fires_us)s::bigint[]) as u (fire_us)
    cross join lateral (select to_timestamp(u.fire_us / 1e6) as fire_time) f
    on conflict (tenant, schedule, fire_time) do nothing
    returning fire_time
), jobs as (
    insert into fairlead.jobs (
        queue, tenant, kind, payload, priority, max_attempts, timeout, expires_at, headers,
        enqueued_by)
    select s.queue, s.tenant, s.kind, s.payload, s.priority, s.max_attempts, s.timeout,
           f.fire_time + s.expires_in,
           s.headers || jsonb_build_object(
               'fairlead.schedule', s.name,
               'fairlead.fire_time', to_char(f.fire_time at time zone 'UTC',
                                             'YYYY-MM-DD"T"HH24:MI:SS"Z"')),
           s.created_by
    from fires f cross join schedule s
    returning 1
), considered as (
    update fairlead.schedules s
    set considered_until = greatest(s.considered_until, to_timestamp(%(considered_us)s / 1e6)),
        problem = %(problem)s
    where s.tenant = %(tenant)s and s.name = any (array(select c.name from schedule c))
)
select exists (select from schedule) as found, (select count(*) from jobs) as inserted
