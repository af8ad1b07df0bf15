-- The leader's sweeps that need two statements: each is one autocommitted call, bounded, fenced by
-- the epoch, and skips whatever somebody else has locked.

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

-- Ends jobs that were to start before expires_at and have not; what runs is left to finish.
create function fairlead._expire(my_epoch bigint, expired_from timestamptz, jobs_max integer)
returns integer language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
    ids bigint[];
    free bigint[];
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
        perform fairlead._end_jobs(
            free, array_fill('expired'::text, array[cardinality(free)]),
            array_fill('it had not started when it expired'::text, array[cardinality(free)]));
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
        perform fairlead._end_jobs(
            unwanted, array_fill('cancelled'::text, array[cardinality(unwanted)]));
    end if;
    return query
    delete from fairlead.work_queue q where q.job_id = any (free) returning q.job_id;
end $$;
