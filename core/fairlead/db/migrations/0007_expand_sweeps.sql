-- What services call beside their statements, and skips rows that another session has locked. The
-- leader's sweeps are one autocommitted call each, bounded, and fenced by the epoch.

-- Locks those of a worker's attempts that no other session holds, and their jobs, for a completion in the
-- same transaction. Answers each token that holds, and whether it was free. The job of an attempt may
-- be gone: then there is nothing else to lock.
create function fairlead._lock_free(ids bigint[], tokens bigint[])
returns table (token bigint, free boolean)
language sql security definer set search_path = pg_catalog, pg_temp set enable_seqscan = off
begin atomic
    with held as materialized (
        select q.job_id, q.token from fairlead.work_queue q
        where q.job_id = any (ids) and q.token = any (tokens)
        for update skip locked
    ), mine as materialized (
        select j.id from fairlead.jobs j
        where j.id = any (array(select h.job_id from held h))
        for update skip locked
    )
    select q.token, q.token = any (array(
        select h.token from held h
        where h.job_id = any (array(select m.id from mine m))
           or not exists (select from fairlead.jobs j where j.id = h.job_id offset 0)))
    from fairlead.work_queue q
    where q.job_id = any (ids) and q.token = any (tokens);
end;

-- Takes attempts from dead workers, or from living ones long past the deadline: the jobs are queued
-- again. Answers what it took; an attempt that has ended since it was found, or that is locked, is
-- not in it. No attempts (null): it does nothing.
create function fairlead._steal(my_epoch bigint, ids bigint[], tokens bigint[], errors text[])
returns table (job_id bigint, token bigint, became text)
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
    if ids is null or not fairlead._leads(my_epoch) then
        return;
    end if;
    return query
    select e.* from fairlead._end_attempts(
        ids, tokens, array_fill('lost'::text, array[cardinality(ids)]), errors,
        array_fill(null::interval, array[cardinality(ids)]), true) e
    where e.became not in ('stale', 'locked');
end $$;

-- Ends jobs that were to start before expires_at and have not; what runs is left to finish. One that
-- has run before, and waits to run again, keeps its last error.
create function fairlead._expire(my_epoch bigint, expired_from timestamptz, jobs_max integer)
returns integer language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
    ids bigint[];
    free bigint[];
    errors text[];
begin
    perform fairlead._require_read_committed();
    if not fairlead._leads(my_epoch) then
        return 0;
    end if;
    select array_agg(e.id) into ids from (
        select j.id from fairlead.jobs j
        where j.expires_at >= expired_from and j.expires_at <= now()
          and not exists (
              select from fairlead.work_queue q where q.job_id = j.id and q.worker is not null)
        order by j.expires_at limit jobs_max for update skip locked) e;
    if ids is null then
        return 0;
    end if;
    -- A new snapshot: what is not queued now cannot be queued while its row is held.
    select array_agg(u.id) into free from unnest(ids) as u (id)
    where not exists (select from fairlead.work_queue q where q.job_id = u.id);
    select free || array_agg(l.job_id) into free from (
        select q.job_id from fairlead.work_queue q
        where q.job_id = any (ids) and q.worker is null order by q.job_id
        for update skip locked) l;
    if cardinality(free) > 0 then
        select array_agg(case
                   when j.attempts = 0 and j.crashes = 0 and j.losses = 0 and j.last_error is null
                       then 'it expired while it waited to run'
                   else 'it expired while it waited to run again'
                        || coalesce('; before that: ' || nullif(j.last_error, ''), '') end
               order by j.id),
               array_agg(j.id order by j.id)
        into errors, free
        from fairlead.jobs j where j.id = any (free);
        perform fairlead._end_unstarted(free, 'expired', errors);
    end if;
    return coalesce(cardinality(free), 0);
end $$;

-- Takes unclaimed rows back from the queue: the jobs are pending again, in the place they had, and
-- their ids are answered. One whose cancellation was waiting for its claim ends here instead.
create function fairlead._recall(my_epoch bigint, ids bigint[])
returns setof bigint language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
    mine bigint[];
    unwanted bigint[];
    free bigint[];
begin
    perform fairlead._require_read_committed();
    if not fairlead._leads(my_epoch) then
        return;
    end if;
    select array_agg(l.id), array_agg(l.id) filter (where l.cancel_requested_at is not null)
    into mine, unwanted
    from (
        select j.id, j.cancel_requested_at from fairlead.jobs j
        where j.id = any (ids) order by j.id for update skip locked) l;
    select array_agg(l.job_id), array_agg(l.job_id) filter (where l.job_id = any (unwanted))
    into free, unwanted
    from (
        select q.job_id from fairlead.work_queue q
        where q.job_id = any (mine) and q.worker is null order by q.job_id
        for update skip locked) l;
    if unwanted is not null then
        perform fairlead._end_unstarted(unwanted, 'cancelled');
    end if;
    return query
    delete from fairlead.work_queue q where q.job_id = any (free) returning q.job_id;
end $$;
