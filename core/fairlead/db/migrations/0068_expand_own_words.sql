-- What a worker's login says costs the leader no more than its part, concerns its own pool alone, and counts once.
-- A login that is bound to pools counts for itself: what it holds keeps back no other pool's jobs.
alter table fairlead.worker_kind_limits add column fleet text collate "C" not null default '';
comment on column fairlead.worker_kind_limits.fleet is
    'Whose limits of the kind count together: the login of pool_logins that the worker is bound by, or empty.';
create index worker_kind_limits_newest on fairlead.worker_kind_limits (pool, kind, worker desc);

alter table fairlead.announced_kinds add column pool text collate "C";
update fairlead.announced_kinds a set pool = w.pool
from fairlead.worker_leases w where w.id = a.worker and w.dead_at is null;
create index announced_kinds_pool on fairlead.announced_kinds (pool, kind, worker desc);

-- Workers that are dead are deleted a day later, and found by when they died, however many there are.
create index worker_leases_dead on fairlead.worker_leases (dead_at) where dead_at is not null;

-- Says for which kinds a worker has handlers, 1,000 at most, and which of them run at most once; answers whether the
-- worker is there. It replaces what the worker said. That stands with the worker's pool.
create function fairlead.announce_kinds(
    worker bigint, kinds text[], max_attempts integer[] default null, at_most_once boolean[] default null
) returns boolean
language plpgsql security definer set search_path = pg_catalog, pg_temp set enable_seqscan = off
set enable_bitmapscan = off set enable_mergejoin = off set enable_sort = off
set plan_cache_mode = force_generic_plan set jit = off as $$
#variable_conflict use_column
begin
    perform fairlead._check_kinds(announce_kinds.kinds, 1000),
            fairlead._check_array('max_attempts', announce_kinds.max_attempts, 1000, true),
            fairlead._check_array('at_most_once', announce_kinds.at_most_once, 1000, true);
    insert into fairlead.worker_kinds as k (worker, kinds, max_attempts, at_most_once)
    select w.id, announce_kinds.kinds,
           coalesce(announce_kinds.max_attempts, array_fill(null::integer, array[cardinality(announce_kinds.kinds)])),
           announce_kinds.at_most_once
    from fairlead.worker_leases w
    where w.id = announce_kinds.worker and w.dead_at is null
      and (w.login = session_user or fairlead._acts_for(w.login))
    for key share
    on conflict on constraint worker_kinds_pkey
    do update set kinds = excluded.kinds, max_attempts = excluded.max_attempts,
                  at_most_once = excluded.at_most_once;
    if not found then
        return false;
    end if;
    delete from fairlead.announced_kinds a where a.worker = announce_kinds.worker;
    insert into fairlead.announced_kinds (worker, kind, max_attempts, pool)
    select k.worker, s.kind, s.max_attempts, w.pool
    from fairlead.worker_kinds k cross join unnest(k.kinds, k.max_attempts) as s (kind, max_attempts)
    join fairlead.worker_leases w on w.id = k.worker
    where k.worker = announce_kinds.worker
    on conflict do nothing;
    return true;
end $$;

-- Says how many jobs of some kinds may run at once in the fleet; answers whether the worker is there. It replaces
-- what the worker said. A worker says it for its own pool alone, and with its fleet: it may not keep back what others
-- serve.
create function fairlead.limit_kinds(worker bigint, kinds text[], at_most integer[]) returns boolean
language plpgsql security definer set search_path = pg_catalog, pg_temp set enable_seqscan = off
set enable_bitmapscan = off set enable_mergejoin = off set enable_sort = off
set plan_cache_mode = force_generic_plan set jit = off as $$
#variable_conflict use_column
begin
    perform fairlead._check_kinds(limit_kinds.kinds, 100),
            fairlead._check_array('at_most', limit_kinds.at_most, 100, false);
    perform from fairlead.worker_leases w
    where w.id = limit_kinds.worker and w.dead_at is null
      and (w.login = session_user or fairlead._acts_for(w.login))
    for key share;
    if not found then
        return false;
    end if;
    delete from fairlead.worker_kind_limits l where l.worker = limit_kinds.worker;
    insert into fairlead.worker_kind_limits (worker, pool, kind, at_most, fleet)
    select w.id, w.pool, s.kind, s.at_most, coalesce((
        select min(l.login::text) from fairlead.pool_logins l
        where pg_has_role(session_user, to_regrole(quote_ident(l.login)), 'member')), '')
    from fairlead.worker_leases w cross join unnest(limit_kinds.kinds, limit_kinds.at_most) s (kind, at_most)
    where w.id = limit_kinds.worker;
    return true;
end $$;

-- The tokens of those attempts that hold their jobs for workers for which this session may act, each in its place;
-- null in the place of another. Whose a token is never changes, so the answer stays true: a token that is not held
-- any more changes nothing anyway. Of a pair that is there several times the first counts.
--
-- Whether there are several is asked apart from whether that is possible: a condition with a query in it takes 10 us.
create function fairlead._own(ids bigint[], tokens bigint[]) returns bigint[]
language plpgsql stable security definer set search_path = pg_catalog, pg_temp set enable_seqscan = off
set enable_bitmapscan = off set enable_mergejoin = off set enable_sort = off
set plan_cache_mode = force_generic_plan set jit = off as $$
begin
    if cardinality(tokens) > 1 then
        if (select count(distinct t.token) < count(t.token) from (select unnest(tokens) as token) t) then
            tokens := array(
                select case when a.place = a.first then a.token end
                from (
                    select u.token, u.place, min(u.place) over (partition by u.job_id, u.token) as first
                    from unnest(ids, tokens) with ordinality as u (job_id, token, place)) a
                order by a.place);
        end if;
    end if;
    return array(
        select (
            select q.token from fairlead.work_queue q
            where q.job_id = a.job_id and q.token = a.token
              and fairlead._acts_for((
                  select w.login from fairlead.worker_leases w where w.id = q.worker)))
        from unnest(ids, tokens) as a (job_id, token));
end $$;

-- How long a JSON value is as it is read: 1e-16383 has 16 kB. Beyond what a text can have it is that.
create function fairlead._read_bytes(said text) returns bigint
language plpgsql immutable set search_path = pg_catalog, pg_temp as $$
begin
    return octet_length(said::jsonb::text);
exception when program_limit_exceeded or out_of_memory then
    return 1 << 30;
end $$;

-- Refuses results that complete() would refuse, whoever they are of, and measures what is read. It walks through a value
-- only where the text has as many brackets, or a number with as many digits or such an exponent: that costs a twentieth.
create function fairlead._check_results(results text[]) returns void
language plpgsql stable set search_path = pg_catalog, pg_temp set jit = off as $$
declare
    fault text;
begin
    select case
        when r.bytes > 1048576
        then format('is %s bytes of JSON, more than 1,048,576', to_char(r.bytes, 'FM999,999,999,999'))
        when r.bytes > 1000 and r.bytes - octet_length(replace(replace(r.result, '[', ''), '{', '')) >= 500
             and jsonb_path_exists(r.result::jsonb, '$.**{500}')
        then 'is nested more than 500 deep'
        when (r.result ~ '[0-9][eE][+]?[0-9]{4}' or r.bytes > 4000 and r.result ~ '[0-9]{200}')
             and jsonb_path_exists(
                 r.result::jsonb, 'strict $.** ? (@.type() == "number" && (@ >= 1e4000 || @ <= -1e4000))')
        then 'holds a number of 1e4000 or more'
    end into fault
    from (select a.result, greatest(octet_length(a.result), case
                     when octet_length(a.result) > 500 and a.result ~ '[0-9][eE][-+]?[0-9]{2}'
                         then fairlead._read_bytes(a.result) end) as bytes
          from unnest(results) as a (result)) r
    order by 1 limit 1;
    if fault is not null then
        raise exception 'fairlead: result %', fault
            using errcode = 'check_violation', constraint = 'results_are_within_bounds',
                  hint = 'Keep it somewhere else, and say in the result where.';
    end if;
end $$;

-- Finishes the jobs of a batch of attempts: out of work_queue and jobs, into the history. Answers the tokens that
-- held; one that is missing was stale, or its ending was stored before a lost connection. Fails (55P03) when another
-- transaction has one of the rows locked for 200 ms, or for the session's own lock_timeout if it has one. An attempt
-- that is there several times ends once, and now: now() is as old as its login likes. Locks work_queue rows, then
-- jobs rows, by job id. Finishing is the only operation that takes work_queue first. Nearly always the batch is of
-- one worker, so one look at that worker's row serves all.
create function fairlead.finish(
    ids bigint[], tokens bigint[], outcomes text[] default null, results text[] default null,
    errors text[] default null, run_us bigint[] default null
) returns setof bigint language plpgsql security definer set search_path = pg_catalog, pg_temp set enable_seqscan = off
set enable_bitmapscan = off set enable_mergejoin = off set enable_sort = off
set plan_cache_mode = force_generic_plan set jit = off as $$
#variable_conflict use_column
begin
    if cardinality(tokens) > 1 then
        if (select count(distinct t.token) < count(t.token) from (select unnest(tokens) as token) t) then
            select array_agg(f.job_id), array_agg(f.token), array_agg(f.outcome), array_agg(f.result), array_agg(f.error),
                   array_agg(f.run_us)
            into ids, tokens, outcomes, results, errors, run_us
            from (
                select distinct on (e.job_id, e.token) e.*
                from unnest(ids, tokens, outcomes, results, errors, finish.run_us) with ordinality
                    as e (job_id, token, outcome, result, error, run_us, place)
                where e.token is not null order by e.job_id, e.token, e.place) f;
        end if;
    end if;
    if results is not null then
        perform fairlead._check_results(results);
    end if;
    return query
    with lock_wait as materialized (
        select set_config('lock_timeout', coalesce(nullif(current_setting('lock_timeout'), '0'), '200ms'),
                          true)
    ), me as materialized (
        select w.id from fairlead.worker_leases w
        where w.id = (select q.worker from fairlead.work_queue q
                      where q.job_id = any (ids) and q.worker is not null limit 1)
          and (w.login = session_user or fairlead._acts_for(w.login))
    ), ended as materialized (
        select e.job_id, e.token, e.outcome, e.result, left(e.error, 4096) as error, e.run_us
        from unnest(ids, tokens, outcomes, results, errors, finish.run_us)
            as e (job_id, token, outcome, result, error, run_us)
    ), released as (
        delete from fairlead.work_queue q
        where q.job_id = any (ids)
          and ((q.job_id, q.token) in (
              select a.job_id, a.token from unnest(ids, tokens) as a (job_id, token))) is true
          and exists (select from lock_wait)
          and (q.worker = (select m.id from me m) or fairlead._acts_for((
              select w.login from fairlead.worker_leases w where w.id = q.worker)))
        returning q.job_id, q.token, q.worker, q.runnable_at, q.claimed_at
    ), removed as (
        delete from fairlead.jobs j where j.id = any (array(select r.job_id from released r))
        returning j.*
    ), kept as (
        insert into fairlead.job_history (
            id, token, worker, created_at, due_at, runnable_at, claimed_at, finished_at, retry_of,
            attempt, max_attempts, crashes, losses, priority, outcome, queue, tenant, kind, payload,
            timeout, cost_hint, dedup_key, headers, result, error, enqueued_by)
        select j.id, r.token, r.worker, j.created_at, j.due_at, r.runnable_at, r.claimed_at,
               greatest(now(), clock_timestamp() - interval '1 second'),
               j.retry_of, fairlead._one_more(j.attempts), j.max_attempts, j.crashes, j.losses, j.priority,
               coalesce(e.outcome, 'succeeded'), j.queue, j.tenant, j.kind, j.payload, j.timeout,
               j.cost_hint, j.dedup_key, j.headers, e.result::jsonb,
               case when coalesce(e.outcome, 'succeeded') = 'succeeded' then e.error
                    when e.outcome = 'expired' then concat_ws('; before that: ', e.error, j.last_error)
                    else coalesce(e.error, j.last_error) end, j.enqueued_by
        from removed j join released r on r.job_id = j.id
        join ended e on e.job_id = r.job_id and e.token = r.token
    ), receipt as (
        insert into fairlead.receipts (ended, run_us)
        select array_agg(r.job_id), array_agg(fairlead._charged_us(e.run_us, r.claimed_at))
        from released r join ended e on e.job_id = r.job_id and e.token = r.token having count(*) > 0
    )
    select r.token from released r;
    -- Asked here as well: while nobody waits, the endings of a batch cost this and no call.
    if pg_sequence_last_value('fairlead.awaited_until') > date_part('epoch', clock_timestamp()) then
        perform fairlead._tell_waiting(ids);
    end if;
end $$;

-- Leases up to jobs_max queued jobs of the worker's pool to it, in claim order: of 16 MiB of payloads and headers in
-- all, or one job. Jobs of full_kinds are passed over, for which the worker has no room (null, as nearly always: of
-- none). max_attempts is 0 for a row that says nothing: a worker has what its handler says. An attempt began a second
-- before this at most. Locks the worker's live row (for share, so that a death or draining cannot be missed), then
-- work_queue rows in claim order (skip locked).
create function fairlead.claim(
    worker bigint, jobs_max integer, below_floor boolean default false, full_kinds text[] default null
) returns table (
    job_id bigint, token bigint, queue text, tenant text, kind text, payload text, headers text,
    attempt integer, max_attempts integer, timeout_seconds double precision,
    timeout_max_seconds double precision, alone boolean, waited_seconds double precision, doomed text,
    checkpoint text
) language plpgsql security definer set search_path = pg_catalog, pg_temp set enable_seqscan = off
set enable_bitmapscan = off set enable_mergejoin = off set enable_sort = off
set plan_cache_mode = force_generic_plan set jit = off as $$
#variable_conflict use_column
begin
    return query
    with me as materialized (
        select w.id, w.pool from fairlead.worker_leases w
        where w.id = claim.worker and w.dead_at is null and not w.draining
          and (w.login = session_user or fairlead._acts_for(w.login))
          and (not exists (select from fairlead.pool_logins) or fairlead._may_serve(w.pool))
        for share
    ), timeline as materialized (
        select fairlead._timeline_base() as base
    ), picked as materialized (
        select q.place, q.job_id
        from fairlead.claim_floors f cross join lateral (
            select w.ctid as place, w.job_id from fairlead.work_queue w
            where w.pool = (select m.pool from me m) and w.band = f.band and w.band >= 0
              and w.worker is null and w.vtag >= case when claim.below_floor then -1 else f.vtag end
              and (claim.full_kinds is null
                   or coalesce((select j.kind from fairlead.jobs j where j.id = w.job_id), '')
                      <> all (claim.full_kinds))
            order by w.vtag, w.job_id limit claim.jobs_max
            for update skip locked) q
        where f.pool = (select m.pool from me m)
        order by f.band limit claim.jobs_max
    ), read as materialized (
        select r.* from fairlead._read_claimed(array(select p.job_id from picked p)) r
    ), leased as (
        update fairlead.work_queue q
        set worker = claim.worker, token = nextval('fairlead.tokens') + (select t.base from timeline t),
            claimed_at = greatest(now(), clock_timestamp() - interval '1 second'),
            deadline = fairlead._deadline(q.timeout)
        where q.ctid = any (array(
            select p.place from picked p limit (select count(*) from read)))
        returning q.job_id, q.token, q.queue, q.tenant, q.runnable_at, q.timeout, q.timeout_max, q.alone
    ), receipt as (
        insert into fairlead.receipts (worker, claimed)
        select claim.worker, array_agg(l.job_id) from leased l having count(*) > 0
    )
    select l.job_id, l.token, l.queue, l.tenant, r.kind, r.payload, r.headers, fairlead._one_more(r.attempts),
           coalesce(r.max_attempts, 0), extract(epoch from l.timeout)::float8,
           extract(epoch from l.timeout_max)::float8, l.alone,
           (fairlead._epoch_us(now()) - fairlead._epoch_us(l.runnable_at)) / 1e6::float8,
           case when r.kind is null then 'gone'
                when r.cancel_requested_at is not null then 'cancelled'
                when r.expires_at <= now() then 'expired' end, r.checkpoint
    from leased l join read r on r.job_id = l.job_id;
end $$;

alter table fairlead.receipts alter at set default greatest(now(), clock_timestamp() - interval '1 second');

-- Inserts a worker's row for this login, with a lease and a new id, and wakes the scheduler. It claims nothing if its
-- pod's mark holds, as one does whose container has restarted. A login has 10,000 live workers at most, more than a
-- server has connections for; the leader reads them all, 10,000 in 6 ms; and 20,000 that no leader has marked dead.
-- Its sessions do not wait for each other here: each counts what the others have committed. No lease ends before it
-- begins.
create function fairlead.register_worker(
    name text, pool text, slots integer, lease_seconds double precision default 15,
    slots_full integer default null, host text default '', pod_uid text default null,
    pod_name text default null, version text default '', releases_slots boolean default false
) returns table (worker bigint, draining boolean, drained boolean)
language plpgsql security definer set search_path = pg_catalog, pg_temp set enable_seqscan = off
set enable_bitmapscan = off set enable_mergejoin = off set enable_sort = off
set plan_cache_mode = force_generic_plan set jit = off as $$
#variable_conflict use_column
declare
    fault constant text := case
        when octet_length(register_worker.pool) not between 1 and 128 then 'pool must be 1 to 128 bytes'
        when octet_length(register_worker.name) > 1000 then 'name must be at most 1,000 bytes'
        when octet_length(register_worker.host) > 256 then 'host must be at most 256 bytes'
        when octet_length(register_worker.pod_uid) > 128 then 'pod_uid must be at most 128 bytes'
        when octet_length(register_worker.pod_name) > 256 then 'pod_name must be at most 256 bytes'
        when octet_length(register_worker.version) > 128 then 'version must be at most 128 bytes'
    end;
begin
    if fault is not null then
        raise exception 'fairlead: a worker''s %', fault using errcode = 'check_violation';
    end if;
    if not fairlead._may_serve(register_worker.pool) then
        raise exception 'fairlead: login % may not serve pool %', session_user, register_worker.pool
            using errcode = 'insufficient_privilege',
                  hint = 'fairlead.pool_logins lists the pools that it may serve.';
    end if;
    if exists (
        select from fairlead.worker_leases w
        where w.dead_at is null and w.lease_until > now() and w.login = session_user offset 9999)
    then
        raise exception 'fairlead: login % has 10,000 live workers, and may have no more', session_user
            using errcode = 'configuration_limit_exceeded',
                  hint = 'Stop some, or wait until the leases of those that were lost have lapsed.';
    end if;
    if exists (
        select from fairlead.worker_leases w where w.dead_at is null and w.login = session_user offset 19999)
    then
        raise exception 'fairlead: login % has 20,000 workers, live or lapsed, and may have no more', session_user
            using errcode = 'configuration_limit_exceeded',
                  hint = 'A scheduler that leads marks them dead.';
    end if;
    return query
    with mark as materialized (
        select k.holds, k.drained from fairlead._read_mark(register_worker.pod_uid) k
    ), me as (
        insert into fairlead.worker_leases (
            id, lease_until, slots, slots_full, name, pool, host, pod_uid, pod_name, version, releases_slots,
            draining)
        overriding system value values (
            nextval('fairlead.worker_leases_id_seq') + fairlead._timeline_base(),
            now() + interval '1 second' * greatest(least(register_worker.lease_seconds, 3600), 0),
            register_worker.slots, coalesce(register_worker.slots_full, register_worker.slots), register_worker.name,
            register_worker.pool, register_worker.host, register_worker.pod_uid, register_worker.pod_name,
            register_worker.version, register_worker.releases_slots,
            exists (select from mark k where k.holds))
        returning id, draining
    )
    select m.id, m.draining, exists (select from mark k where k.drained) from me m;
    perform fairlead._notify('fairlead_scheduler', '');
end $$;

-- Renews a worker's lease, if its row is not dead, and stores what it says of itself: slots (null: as before) up to
-- those that it registered as its full number, how many jobs it holds beside them, whose crash breakers are open and
-- which kinds may be evicted (null: none). What cannot be crash breakers or kinds to evict, or is more of them than
-- Fairlead's workers say, counts as none: a lease is renewed all the same, and none ends before it begins. Answers
-- which of its attempts are to be cancelled and which to be evicted; one whose job's row is gone is to be cancelled,
-- unless its handler has completed the job. No row: it is dead, and what it held may run elsewhere. If its pod is
-- marked, its claims are refused from now on, until undrain_worker; marked is whether the mark is in force, drained
-- whether it is empty under it. It does not wait for the disk: forgetting it in a server crash does no harm, for no
-- lease lapses until one lease after the server's start, and drained is not stored without the rows it depends on.
create function fairlead.renew_worker(
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
        set lease_until = now() + interval '1 second' * greatest(least(renew_worker.lease_seconds, 3600), 0),
            slots = least(coalesce(renew_worker.slots, w.slots), coalesce(w.slots_full, w.slots)),
            beside = renew_worker.beside, crash_breakers = fairlead._readable_breakers(renew_worker.crash_breakers),
            evictable_kinds = case when fairlead._is_list(renew_worker.evictable_kinds)
                                        and octet_length(renew_worker.evictable_kinds::text) <= 262144
                                   then renew_worker.evictable_kinds end,
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

-- ANALYZE copies values of columns into the catalogs, where they outlast the rows: what jobs carry stays out of them.
-- No plan goes by it.
alter table fairlead.jobs alter payload set statistics 0, alter headers set statistics 0,
    alter dedup_key set statistics 0, alter last_error set statistics 0, alter checkpoint set statistics 0;
alter table fairlead.job_history alter payload set statistics 0, alter headers set statistics 0,
    alter dedup_key set statistics 0, alter result set statistics 0, alter error set statistics 0;
alter table fairlead.attempt_errors alter error set statistics 0;
alter table fairlead.job_progress alter note set statistics 0;
alter table fairlead.schedules alter payload set statistics 0, alter headers set statistics 0;

-- Only PostgreSQL 18 lets an owner delete what was copied.
do $copies$
declare
    copied record;
begin
    if to_regprocedure('pg_clear_attribute_stats(text, text, text, boolean)') is null then
        return;
    end if;
    for copied in
        select c.relname, a.attname, t.inherited
        from pg_class c join pg_attribute a on a.attrelid = c.oid cross join (values (true), (false)) t (inherited)
        where c.relnamespace = 'fairlead'::regnamespace and c.relkind in ('r', 'p') and a.attstattarget = 0
    loop
        perform pg_clear_attribute_stats('fairlead', copied.relname, copied.attname, copied.inherited);
    end loop;
end $copies$;
