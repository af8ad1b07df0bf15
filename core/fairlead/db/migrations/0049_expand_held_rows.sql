-- What a worker's login may keep locked by an open transaction, no other role's statement waits for. What is left: who
-- holds the turn below the floor keeps the pool's other workers from it.
--
-- It drops a column, since nothing is released that could run on meanwhile: a scheduler for 48 would open pools without
-- a row in floor_scans, in which nobody had a turn.
-- compatible-from: 49

-- --- turns below the floor -----------------------------------------------------------------------------

-- Not a column of claim_floors: a turn that was not committed kept the leader from dispatching.
create table fairlead.floor_scans (
    pool text        collate "C" primary key,
    at   timestamptz not null default '-infinity'
) with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 200);
comment on table fairlead.floor_scans is
    'When a worker of the pool last claimed below the floor. The leader adds a pool''s row with its floors.';
insert into fairlead.floor_scans (pool) select distinct f.pool from fairlead.claim_floors f;

-- Whether there is a row that a claim would take, from the floor on or also below it, and whether it is time
-- for any worker to claim below it. A claim locks the worker's row and so writes to the log, even when it
-- finds nothing; this only reads.
create function fairlead._claimable(pool text, below_floor boolean)
returns table (claimable boolean, turn_due boolean)
language plpgsql stable security definer set search_path = pg_catalog, pg_temp set enable_seqscan = off
set enable_bitmapscan = off set enable_mergejoin = off set enable_sort = off
set plan_cache_mode = force_generic_plan set jit = off as $$
begin
    return query
    select coalesce(bool_or(exists (
               select from fairlead.work_queue w
               where w.pool = _claimable.pool and w.band = f.band and w.band >= 0 and w.worker is null
                 and w.vtag >= case when below_floor then -1 else f.vtag end
               order by w.vtag, w.job_id limit 1)), false),
           coalesce((select s.at not between now() - interval '1 second' and now() + interval '1 second'
                     from fairlead.floor_scans s where s.pool = _claimable.pool), false)
    from fairlead.claim_floors f
    where f.pool = _claimable.pool;
end $$;

-- May a worker of this pool claim below the floor now? One worker per pool may once a second, so that a row
-- that came back below the floor is claimed and cannot freeze virtual time. A turn that lies ahead was taken before
-- the clock was set back. It does not wait for the disk: a turn that a server crash forgets is taken again.
create function fairlead.take_floor_scan_turn(pool text) returns boolean
language plpgsql security definer set search_path = pg_catalog, pg_temp set enable_seqscan = off
set enable_bitmapscan = off set enable_mergejoin = off set enable_sort = off
set plan_cache_mode = force_generic_plan set jit = off as $$
begin
    perform set_config('synchronous_commit', 'off', true);
    update fairlead.floor_scans s set at = now()
    where s.pool = any (array(
        select f.pool from fairlead.floor_scans f
        where f.pool = take_floor_scan_turn.pool
          and f.at not between now() - interval '1 second' and now() + interval '1 second'
          and fairlead._may_serve(f.pool)
        for update skip locked));
    return found;
end $$;

-- --- drain marks ---------------------------------------------------------------------------------------

-- Whether a pod's mark holds, and whether the pod is empty under it; nulls: there is none. A mark that has lapsed is
-- void from then on, even when it is prolonged at this very moment: so its row is read under its lock. One that
-- another session has locked holds until ten seconds after it lapsed: the autoscaler prolongs a mark in two.
create function fairlead._read_mark(pod_uid text, out holds boolean, out drained boolean)
language plpgsql security definer set search_path = pg_catalog, pg_temp set enable_seqscan = off
set enable_bitmapscan = off set enable_mergejoin = off set enable_sort = off
set plan_cache_mode = force_generic_plan set jit = off as $$
begin
    update fairlead.pod_drains d
    set drained_at = case when d.drain_until > now() then d.drained_at end
    where d.pod_uid = any (array(
        select f.pod_uid from fairlead.pod_drains f where f.pod_uid = _read_mark.pod_uid
        for no key update skip locked))
    returning d.drain_until > now(), d.drained_at is not null into holds, drained;
    if not found then
        select d.drain_until > now() - interval '10 seconds', d.drained_at is not null into holds, drained
        from fairlead.pod_drains d where d.pod_uid = _read_mark.pod_uid;
    end if;
end $$;

-- Lets a worker claim again, unless its pod's mark holds; answers a row if it may.
create function fairlead.undrain_worker(worker bigint) returns setof bigint
language plpgsql security definer set search_path = pg_catalog, pg_temp set enable_seqscan = off
set enable_bitmapscan = off set enable_mergejoin = off set enable_sort = off
set plan_cache_mode = force_generic_plan set jit = off as $$
begin
    return query
    with me as materialized (
        select w.id, w.pod_uid from fairlead.worker_leases w
        where w.id = undrain_worker.worker and w.dead_at is null and fairlead._acts_for(w.login)
        for no key update
    ), free as (
        update fairlead.worker_leases w set draining = false
        from me m where w.id = m.id
          and not coalesce((select k.holds from fairlead._read_mark(m.pod_uid) k), false)
        returning w.id
    )
    select f.id from free f;
    if found then
        perform fairlead._notify('fairlead_scheduler', '');
    end if;
end $$;

-- Stores that a marked pod holds nothing, if that is so; no row: it is not so, the mark has lapsed, or another
-- session has locked it. No claim of its workers can be added any more: draining was committed before this began, a
-- renewal waits for the claims before it, and a claim reads draining under its lock. A pod usually has one worker;
-- where it has more, all of them have to be empty and to know of the mark.
create function fairlead.say_drained(worker bigint) returns setof timestamptz
language plpgsql security definer set search_path = pg_catalog, pg_temp set enable_seqscan = off
set enable_bitmapscan = off set enable_mergejoin = off set enable_sort = off
set plan_cache_mode = force_generic_plan set jit = off as $$
begin
    return query
    update fairlead.pod_drains d set drained_at = coalesce(d.drained_at, now())
    from fairlead.worker_leases w
    where w.id = say_drained.worker and w.dead_at is null and w.draining and fairlead._acts_for(w.login)
      and d.pod_uid = w.pod_uid and d.drain_until > now()
      and (select o.id from fairlead.worker_leases o
           where o.dead_at is null and o.lease_until > now() and o.pod_uid = w.pod_uid and not o.draining
           order by o.name limit 1) is null
      and (select q.job_id from fairlead.work_queue q
           where q.worker = any (array(
               select o.id from fairlead.worker_leases o
               where o.dead_at is null and (o.lease_until > now() or o.id = w.id)
                 and o.pod_uid = w.pod_uid))
           order by q.job_id limit 1) is null
      and d.pod_uid = any (array(
          select f.pod_uid from fairlead.pod_drains f where f.pod_uid = w.pod_uid
          for no key update skip locked))
    returning d.drained_at;
end $$;

-- --- pools ---------------------------------------------------------------------------------------------

-- Answers the owner of a pool, which the caller's release becomes if there is none and it has a name. Empty: nobody
-- owns it, and the caller's may not, since others' logins are bound to the pool and this one is not: theirs alone, and
-- administrators, make their release its owner. Null: another session has the pool and has not committed after
-- half a second, so whose it will be is open. Without a name the function only reads.
create function fairlead._own_pool(pool text, release text) returns text
language plpgsql security definer set search_path = pg_catalog, pg_temp set lock_timeout = '500ms' as $$
declare
    found_owner text;
begin
    if not fairlead._may_serve(_own_pool.pool) then
        raise exception 'fairlead: login % may not serve pool %', session_user, _own_pool.pool
            using errcode = 'insufficient_privilege',
                  hint = 'fairlead.pool_logins lists the pools that it may serve.';
    end if;
    select p.release into found_owner from fairlead.pool_owners p where p.pool = _own_pool.pool;
    if found or _own_pool.release = '' then
        return coalesce(found_owner, '');
    end if;
    if exists (select from fairlead.pool_logins l where l.pool = _own_pool.pool)
       and not fairlead._administers()
       and not exists (
           select from fairlead.pool_logins l
           where l.pool = _own_pool.pool
             and pg_has_role(session_user, to_regrole(quote_ident(l.login)), 'member')) then
        return '';
    end if;
    begin
        insert into fairlead.pool_owners (pool, release) values (_own_pool.pool, _own_pool.release)
        on conflict on constraint pool_owners_pkey do nothing;
    exception when lock_not_available then
        return null;
    end;
    return coalesce((select p.release from fairlead.pool_owners p where p.pool = _own_pool.pool), '');
end $$;
