-- Numbers that a fail-over must not give twice contain the server's timeline.
--
-- An asynchronous standby that is promoted may lack the last that its primary has committed. Its sequences and its
-- rows then stand before numbers that were handed out, and processes that hold those live on. PostgreSQL gives
-- every promotion, and every recovery to a point in time, a timeline of its own, which is greater than those
-- before and in force from the first statement that writes.

-- The server's timeline: the first eight hexadecimal digits of the name of the file that it writes its log to.
-- pg_control_checkpoint() names the former one until the first checkpoint after a promotion has ended.
create function fairlead._timeline() returns integer language sql
return ('x' || left(pg_walfile_name(pg_current_wal_lsn()), 8))::bit(32)::integer;

-- What numbers of this timeline have above those of the first one: 10^12 for each later one. Numbers of two
-- timelines cannot meet as long as no fewer than that many are lost.
create function fairlead._timeline_base() returns bigint language sql
return (fairlead._timeline() - 1) * 1000000000000;

comment on sequence fairlead.tokens is
    'Fencing tokens: every claim draws a new one, and adds 10^12 for each timeline of the server after the first.';

-- --- who leads ---------------------------------------------------------------------------------------

alter table fairlead.leaders add column timeline integer not null default fairlead._timeline();
comment on column fairlead.leaders.timeline is
    'The server''s timeline when the epoch began: under another one the epoch is over.';

-- The epoch that comes after one of a timeline. 10^12 for each timeline between them: those that were begun
-- there and are lost are below it.
create function fairlead._next_epoch(epoch bigint, timeline integer) returns bigint language sql
return epoch + 1 + greatest(fairlead._timeline() - timeline, 0) * 1000000000000;

-- Does this epoch lead? Holds the leader's row, so that a take-over waits for this statement. No epoch outlasts a
-- fail-over: places and ids of jobs that are lost may be given again, so what a leader remembers of lanes and of
-- the newest id would hide jobs from it.
create or replace function fairlead._leads(my_epoch bigint) returns boolean
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
    perform from fairlead.leaders l
    where l.role = 'scheduler' and l.epoch = my_epoch and l.timeline = fairlead._timeline() for share;
    return found;
end $$;

-- The same for the autoscaler, whose lease is a Lease of Kubernetes: only the epoch is kept here.
create or replace function fairlead._autoscaler_leads(my_epoch bigint) returns boolean
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
    perform from fairlead.leaders l
    where l.role = 'autoscaler' and l.epoch = my_epoch and l.timeline = fairlead._timeline() for share;
    return found;
end $$;

-- Extends the lease of this epoch; null when another epoch is in force, the lease was released, or the server
-- is another one since.
create or replace function fairlead._renew_leadership(my_epoch bigint, lease_seconds double precision)
returns bigint language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
    perform fairlead._check_leader('-', lease_seconds);
    update fairlead.leaders l
    set lease_until = now() + make_interval(secs => lease_seconds)
    where l.role = 'scheduler' and l.epoch = my_epoch and l.timeline = fairlead._timeline()
      and l.lease_until > '-infinity';
    return case when found then my_epoch end;
end $$;

-- Begins a new epoch of the autoscaler and returns it, so that no earlier controller can write any more; null
-- where the database is another release's. SQLSTATE FL006: the row cannot be used until it is mended.
create or replace function fairlead._begin_autoscaler_epoch(my_name text, my_release text) returns bigint
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
    fault constant text := fairlead._leader_fault('autoscaler');
    begun bigint;
begin
    perform fairlead._check_leader(my_name, 1);
    if fault is not null then
        raise exception 'fairlead: the autoscaler cannot lead: in fairlead.leaders %: an administrator mends it '
                        'with "select fairlead.reset_leadership()"', fault
            using errcode = 'FL006';
    end if;
    update fairlead.leaders l
    set holder = my_name, epoch = fairlead._next_epoch(l.epoch, l.timeline), timeline = fairlead._timeline(),
        taken_at = now(), lease_until = 'infinity'
    where l.role = 'autoscaler' and l.release in ('', my_release) returning l.epoch into begun;
    return begun;
end $$;

-- --- workers -----------------------------------------------------------------------------------------

-- Inserts a worker's row for this login, with a lease and a new id, and wakes the scheduler. It claims
-- nothing if its pod is marked, as one does whose container has restarted. A mark that has lapsed is void
-- from then on, even when it is prolonged at this very moment: so its row is read under its lock.
create or replace function fairlead.register_worker(
    name text, pool text, slots integer, lease_seconds double precision default 15,
    slots_full integer default null, host text default '', pod_uid text default null,
    pod_name text default null, version text default '', releases_slots boolean default false
) returns table (worker bigint, draining boolean, drained boolean)
language plpgsql security definer set search_path = pg_catalog, pg_temp set enable_seqscan = off
set enable_bitmapscan = off set enable_mergejoin = off set enable_sort = off
set plan_cache_mode = force_generic_plan set jit = off as $$
#variable_conflict use_column
begin
    if not fairlead._may_serve(register_worker.pool) then
        raise exception 'fairlead: login % may not serve pool %', session_user, register_worker.pool
            using errcode = 'insufficient_privilege',
                  hint = 'fairlead.pool_logins lists the pools that it may serve.';
    end if;
    return query
    with mark as (
        update fairlead.pod_drains d
        set drained_at = case when d.drain_until > now() then d.drained_at end
        where d.pod_uid = register_worker.pod_uid
        returning d.drain_until > now() as holds, d.drained_at is not null as drained
    ), me as (
        insert into fairlead.worker_leases (
            id, lease_until, slots, slots_full, name, pool, host, pod_uid, pod_name, version, releases_slots,
            draining)
        overriding system value values (
            nextval('fairlead.worker_leases_id_seq') + fairlead._timeline_base(),
            now() + interval '1 second' * least(register_worker.lease_seconds, 3600), register_worker.slots,
            coalesce(register_worker.slots_full, register_worker.slots), register_worker.name,
            register_worker.pool, register_worker.host, register_worker.pod_uid, register_worker.pod_name,
            register_worker.version, register_worker.releases_slots,
            exists (select from mark k where k.holds))
        returning id, draining
    )
    select m.id, m.draining, exists (select from mark k where k.drained) from me m;
    perform pg_notify('fairlead_scheduler', '');
end $$;
