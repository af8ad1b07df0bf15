-- fire: insert the jobs of a batch of schedules' fires, each fire once whichever leader fires it, as jobs of the
--       logins that made the schedules, and record how far each has been considered. Passes over a schedule that
--       has changed since it was read, or that another session has locked; returns the places of the others.
-- locks: the leader's row (for share), the schedules (skip locked), their fires.
-- index: leaders_pkey, schedules_pkey, schedule_fires_pkey
with lead as materialized (
    select %(epoch)s::bigint as epoch where fairlead._leads(%(epoch)s)
), asked as materialized (
    select a.* from unnest(%(tenants)s::text[], %(names)s::text[], %(crons)s::text[], %(timezones)s::text[],
                           %(considered_us)s::bigint[], %(problems)s::text[])
        with ordinality as a (tenant, name, cron, timezone, considered_us, fault, place)
), schedule as materialized (
    select s.*, a.place, a.considered_us, a.fault
    from asked a join fairlead.schedules s on s.tenant = a.tenant and s.name = a.name
    where s.cron = a.cron and s.timezone = a.timezone and s.enabled and exists (select from lead)
    for update of s skip locked
), fires as (
    insert into fairlead.schedule_fires (tenant, schedule, fire_time)
    select s.tenant, s.name, to_timestamp(f.fire_us / 1e6)
    from schedule s
    join unnest(%(places)s::bigint[], %(fires_us)s::bigint[]) as f (place, fire_us) on f.place = s.place
    on conflict (tenant, schedule, fire_time) do nothing
    returning tenant, schedule, fire_time
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
    from fires f join schedule s on s.tenant = f.tenant and s.name = f.schedule
), considered as (
    update fairlead.schedules s
    set considered_until = greatest(s.considered_until, to_timestamp(c.considered_us / 1e6)),
        problem = c.fault
    from schedule c where s.tenant = c.tenant and s.name = c.name
)
select c.place from schedule c
