-- publish_demand: publish the demand of pools, delete the rows of all others, and notify the pools in which
--                 jobs begin to wait. Does nothing under another leader's epoch.
-- locks: the leader's row (for key share), pool_demand by pool, which only the leader writes.
-- index: leaders_pkey, pool_demand_pkey; pool_demand is read whole: it has a row for each pool.
with lead as materialized (
    select %(epoch)s::bigint as epoch where fairlead._leads(%(epoch)s)
), ended as (
    delete from fairlead.pool_demand d
    where d.pool <> all (%(pools)s::text[]) and exists (select from lead)
), written as (
    insert into fairlead.pool_demand as d (
        pool, epoch, at, became_runnable_total, work_slot_seconds, slots_useful, slots_kept,
        slots_allowed, oldest_runnable_at, scheduled_slot_seconds, service_mean,
        service_variance, fires)
    select s.pool, l.epoch, timestamptz 'epoch' + s.at_us * interval '1 us', s.became_runnable_total,
           s.work_slot_seconds, s.slots_useful, s.slots_kept, s.slots_allowed,
           timestamptz 'epoch' + s.oldest_us * interval '1 us', s.scheduled_slot_seconds,
           s.service_mean, s.service_variance, s.fires
    from lead l
    cross join jsonb_to_recordset(%(rows)s::jsonb) s (
        pool text, at_us bigint, became_runnable_total bigint, work_slot_seconds double precision,
        slots_useful integer, slots_kept integer, slots_allowed integer, oldest_us bigint,
        scheduled_slot_seconds double precision[], service_mean double precision,
        service_variance double precision, fires jsonb)
    on conflict (pool) do update
    set epoch = excluded.epoch, at = excluded.at,
        became_runnable_total = excluded.became_runnable_total,
        work_slot_seconds = excluded.work_slot_seconds, slots_useful = excluded.slots_useful,
        slots_kept = excluded.slots_kept, slots_allowed = excluded.slots_allowed,
        oldest_runnable_at = excluded.oldest_runnable_at,
        scheduled_slot_seconds = excluded.scheduled_slot_seconds,
        service_mean = excluded.service_mean, service_variance = excluded.service_variance,
        fires = excluded.fires
    returning d.pool
)
select fairlead._notify('fairlead_autoscaler', w.pool) from written w
where w.pool = any (%(begins)s::text[])
