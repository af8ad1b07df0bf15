-- The leader's sweeps that need two statements: each is one autocommitted call, bounded, fenced by
-- the epoch, and skips whatever somebody else has locked.

-- Returns to the queue what dead workers and attempts long past their deadline held. It reads
-- work_queue whole, so it is for the moments after a death, and for a slow pass beside those.
create function fairlead._steal(my_epoch bigint, overdue interval, jobs_max integer)
returns table (job_id bigint, token bigint, became text)
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
    ids bigint[];
    tokens bigint[];
    errors text[];
begin
    if not fairlead._leads(my_epoch) then
        return;
    end if;
    select array_agg(s.job_id order by s.job_id), array_agg(s.token order by s.job_id),
           array_agg(s.error order by s.job_id)
    into ids, tokens, errors
    from (
        select q.job_id, q.token,
               case when w.dead then 'its worker was lost' else 'it ran past its deadline' end as error
        from fairlead.work_queue q
        cross join lateral (
            select coalesce(bool_and(l.dead_at is not null), true) as dead
            from fairlead.worker_leases l where l.id = q.worker offset 0) w
        where q.worker is not null and (w.dead or q.deadline < now() - overdue)
        limit jobs_max) s;
    if ids is null then
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
