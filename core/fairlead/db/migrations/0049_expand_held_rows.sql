-- What a worker's login may keep locked by an open transaction, nobody else waits for.

-- --- turns below the floor -----------------------------------------------------------------------------

-- Not a column of claim_floors: a turn that was not committed kept the leader from dispatching.
create table fairlead.floor_scans (
    pool text        collate "C" primary key,
    at   timestamptz not null default '-infinity'
) with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 200);
comment on table fairlead.floor_scans is
    'When a worker of the pool last claimed below the floor. The leader adds a pool''s row with its floors.';
insert into fairlead.floor_scans (pool) select distinct f.pool from fairlead.claim_floors f;
alter table fairlead.claim_floors drop column full_claim_at;

-- Whether there is a row that a claim would take, from the floor on or also below it, and whether it is time
-- for any worker to claim below it. A claim locks the worker's row and so writes to the log, even when it
-- finds nothing; this only reads.
create or replace function fairlead._claimable(pool text, below_floor boolean)
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
           coalesce((select s.at < now() - interval '1 second' from fairlead.floor_scans s
                     where s.pool = _claimable.pool), false)
    from fairlead.claim_floors f
    where f.pool = _claimable.pool;
end $$;

-- May a worker of this pool claim below the floor now? One worker per pool may once a second, so that a row
-- that came back below the floor is claimed and cannot freeze virtual time. It does not wait for the disk: a
-- turn that a server crash forgets is taken again.
create or replace function fairlead.take_floor_scan_turn(pool text) returns boolean
language plpgsql security definer set search_path = pg_catalog, pg_temp set enable_seqscan = off
set enable_bitmapscan = off set enable_mergejoin = off set enable_sort = off
set plan_cache_mode = force_generic_plan set jit = off as $$
begin
    perform set_config('synchronous_commit', 'off', true);
    update fairlead.floor_scans s set at = now()
    where s.pool = any (array(
        select f.pool from fairlead.floor_scans f
        where f.pool = take_floor_scan_turn.pool and f.at < now() - interval '1 second'
          and fairlead._may_serve(f.pool)
        for update skip locked));
    return found;
end $$;
