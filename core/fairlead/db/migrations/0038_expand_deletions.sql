-- What becomes of running attempts whose jobs somebody has deleted by hand.

-- A deletion of rows is seen by the worker's next renewal; after TRUNCATE ... RESTART IDENTITY new jobs would
-- have the ids of attempts that run still, whose endings would finish them.
create function fairlead._refuse_truncation() returns trigger
language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
    raise exception 'fairlead: jobs is never truncated: its attempts would run on under ids that are given out again'
        using errcode = 'insufficient_privilege',
              hint = 'Cancel jobs with fairlead.cancel(id); DELETE FROM fairlead.jobs clears a database of tests.';
end $$;
create trigger jobs_is_not_truncated before truncate on fairlead.jobs
    for each statement execute function fairlead._refuse_truncation();

-- Renews a worker's lease, if its row is not dead, and stores what it says of itself: slots (null: as
-- before) up to those that it registered as its full number, how many jobs it holds beside them, whose
-- crash breakers are open and which kinds may be evicted (null: none). Answers which of its attempts are to
-- be cancelled and which to be evicted; one whose job's row is gone is to be cancelled, unless its handler
-- has completed the job. No row: it is dead, and what it held may run elsewhere. If its pod is marked, its
-- claims are refused from now on, until undrain_worker; marked is whether the mark is in force, drained
-- whether it is empty under it. It does not wait for the disk: forgetting it in a server crash does no harm,
-- for no lease lapses until one lease after the server's start, and drained is not stored without the rows
-- it depends on.
create or replace function fairlead.renew_worker(
    worker bigint, lease_seconds double precision default 15, slots integer default null,
    ids bigint[] default '{}', tokens bigint[] default '{}', beside integer default 0,
    crash_breakers jsonb default null, evictable_kinds text[] default null
) returns table (cancelled bigint[], evicted bigint[], draining boolean, marked boolean, drained boolean)
language plpgsql security definer set search_path = pg_catalog, pg_temp set enable_seqscan = off
set enable_bitmapscan = off set enable_mergejoin = off set enable_sort = off
set plan_cache_mode = force_generic_plan set jit = off as $$
#variable_conflict use_column
begin
    return query
    with me as (
        update fairlead.worker_leases w
        set lease_until = now() + interval '1 second' * least(renew_worker.lease_seconds, 3600),
            slots = least(coalesce(renew_worker.slots, w.slots), coalesce(w.slots_full, w.slots)),
            beside = renew_worker.beside, crash_breakers = renew_worker.crash_breakers,
            evictable_kinds = renew_worker.evictable_kinds,
            draining = w.draining or exists (
                select from fairlead.pod_drains d
                where d.pod_uid = w.pod_uid and d.drain_until > now())
        where w.id = renew_worker.worker and w.dead_at is null
          and (w.login = session_user or fairlead._acts_for(w.login))
        returning w.id, w.pod_uid, w.draining, set_config('synchronous_commit', 'off', true)
    ), running as materialized (
        select a.job_id, a.token, q.completed
        from unnest(renew_worker.ids, renew_worker.tokens) as a (job_id, token)
        cross join lateral (
            select q.completed from fairlead.work_queue q
            where q.job_id = a.job_id and q.token = a.token and q.worker = (select m.id from me m)
            offset 0) q
    )
    select array(
               select a.token from running a
               left join lateral (
                   select j.id, j.cancel_requested_at is not null as requested
                   from fairlead.jobs j where j.id = a.job_id offset 0) j on true
               where case when j.id is null then not a.completed else j.requested end),
           array(
               select a.token from running a
               cross join lateral (
                   select from fairlead.evictions e
                   where renew_worker.evictable_kinds is not null
                     and e.job_id = a.job_id and e.token = a.token offset 0) e),
           m.draining, coalesce(d.drain_until > now(), false), d.drained_at is not null
    from me m left join fairlead.pod_drains d on d.pod_uid = m.pod_uid;
end $$;
