-- Cancelling many jobs at once, and taking out of the database what jobs carried.

-- Cancels unfinished jobs of a queue, a tenant and a kind, of which null stands for any, in the order of their ids:
-- looks at 10,000 behind after_id at most, and cancels jobs_max at most, of so many bytes as are moved at once. Those
-- that another transaction has locked are left and counted, so that no call waits. One that was asked to stop and
-- that no worker has, as after a claim that was rolled back, ends. Answers how many ended and will not run, how many
-- run and were asked to stop by this call, how many were locked, the id to go on behind, null at the end, and how
-- many bytes the jobs have that it took, so that who calls it again and again in one transaction knows when to end
-- that.
--
-- Without statistics, such as those of a table that was empty a moment ago, the first 10,000 jobs behind an id were
-- found by a bitmap of the whole backlog that was sorted, in each step and by the defaults.
--
-- Whose each job is is asked of its row: a login can name ten thousand tenants of one hash, and asking once of each
-- pair took a table of hashes. It is written out, and no function of its own: PostgreSQL inlines none
-- that has a subquery, and a kept plan compares an array one by one: with the tenants in one, a call for a login of 5,000
-- tenants took 1.9 s instead of 0.06 s.
create function fairlead._cancel_jobs(
    queue text, tenant text, kind text, after_id bigint, jobs_max integer, out ended integer,
    out requested integer, out locked integer, out reached_id bigint, out taken_bytes bigint
)
language plpgsql security definer set search_path = pg_catalog, pg_temp set enable_seqscan = off set jit = off
set enable_bitmapscan = off set enable_indexscan = on set enable_tidscan = on as $$
declare
    looked_max constant integer := 10000;
    owns_all constant boolean := fairlead._owns_all();
    by_tenant constant boolean := (select o.rls from fairlead.install_options o);
    wanted integer := least(greatest(_cancel_jobs.jobs_max, 0), looked_max);
    ids bigint[];
    sizes bigint[];
    fitting integer;
    running bigint[];
    asked bigint[];
begin
    perform fairlead._require_read_committed();
    if coalesce(_cancel_jobs.queue, _cancel_jobs.tenant, _cancel_jobs.kind) is null then
        raise exception 'fairlead: name a queue, a tenant or a kind whose jobs to cancel'
            using errcode = 'null_value_not_allowed';
    end if;
    ended := 0;
    requested := 0;
    with looked as materialized (
        select j.id, j.queue, j.tenant, j.kind, j.enqueued_by, j.cancel_requested_at,
               fairlead._stored_bytes(j.payload, j.headers, j.last_error) as bytes
        from fairlead.jobs j
        where j.id > coalesce(_cancel_jobs.after_id, 0) order by j.id limit looked_max
    ), alike as materialized (
        select l.id, l.tenant, l.enqueued_by, l.bytes from looked l
        where (l.cancel_requested_at is null or not exists (
                  select from fairlead.work_queue q where q.job_id = l.id and q.worker is not null offset 0))
          and (_cancel_jobs.queue is null or l.queue = _cancel_jobs.queue)
          and (_cancel_jobs.tenant is null or l.tenant = _cancel_jobs.tenant)
          and (_cancel_jobs.kind is null or l.kind = _cancel_jobs.kind)
    ), picked as materialized (
        select a.id, a.bytes from alike a
        where case when owns_all then true
                   when by_tenant then a.tenant in (
                       select t.tenant from fairlead.tenant_logins t where t.login = session_user)
                   else a.enqueued_by = session_user end
        order by a.id limit wanted
    )
    select p.ids, p.sizes, case when p.many >= wanted then p.last
                       when (select count(*) from looked) = looked_max then (select max(l.id) from looked l) end
    into ids, sizes, reached_id
    from (select coalesce(array_agg(k.id), '{}') as ids, array_agg(k.bytes) as sizes, count(*) as many,
                 max(k.id) as last from picked k) p;

    fitting := fairlead._fitting(sizes);
    if fitting < cardinality(ids) then
        reached_id := ids[fitting];
        ids := ids[:fitting];
    end if;
    locked := cardinality(ids);
    select coalesce(array_agg(f.id), '{}'), coalesce(sum(f.bytes), 0) into ids, taken_bytes
    from (
        select j.id, fairlead._stored_bytes(j.payload, j.headers, j.last_error) as bytes
        from fairlead.jobs j where j.id = any (ids) order by j.id for update skip locked) f;
    locked := locked - cardinality(ids);

    -- A new snapshot: a dispatch that held some of them is visible now. A row that is locked is being claimed.
    select coalesce(array_agg(q.job_id order by q.job_id), '{}') into running
    from fairlead.work_queue q
    where q.job_id = any (ids)
      and not q.job_id = any (array(
          select f.job_id from fairlead.work_queue f
          where f.job_id = any (ids) and f.worker is null for update skip locked));
    if cardinality(ids) = 0 then
        return;
    end if;
    with asked as (
        update fairlead.jobs j set cancel_requested_at = clock_timestamp()
        where j.id = any (running) and j.cancel_requested_at is null returning j.id
    )
    select coalesce(array_agg(a.id), '{}') into asked from asked a;
    requested := cardinality(asked);
    perform fairlead._notify('fairlead_cancel', a.id::text) from unnest(asked) a (id);
    ids := array(select i.id from unnest(ids) i (id) where not i.id = any (running));
    ended := cardinality(ids);
    perform fairlead._end_unstarted(ids, 'cancelled') where ended > 0;
    perform fairlead._record_audit(
        'cancel_jobs', queue => coalesce(_cancel_jobs.queue, ''), tenant => _cancel_jobs.tenant,
        details => jsonb_strip_nulls(jsonb_build_object(
            'kind', _cancel_jobs.kind, 'ended', ended, 'asked to stop', requested)))
    where ended + requested > 0;
end $$;

-- Cancels such jobs in one transaction, whose locks last until it ends: so 10,000 jobs at most, and a call ends after
-- the step with which its jobs have so many bytes: it answers with fewer than jobs_max then, and a further call goes
-- on. Until that answers 0 there may be more.
create function fairlead.cancel_jobs(
    queue text default null, tenant text default null, kind text default null,
    jobs_max integer default 1000, out cancelled bigint, out locked bigint
) language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
    step record;
    id bigint := 0;
    bytes bigint := 0;
begin
    if not coalesce(jobs_max between 1 and 10000, false) then
        raise exception 'fairlead: jobs_max is 1 to 10,000'
            using errcode = 'invalid_parameter_value',
                  hint = 'Call it again for the others, each time in a transaction of its own.';
    end if;
    cancelled := 0;
    locked := 0;
    while cancelled < jobs_max and id is not null loop
        step := fairlead._cancel_jobs(
            cancel_jobs.queue, cancel_jobs.tenant, cancel_jobs.kind, id, (jobs_max - cancelled)::integer);
        cancelled := cancelled + step.ended + step.requested;
        locked := locked + step.locked;
        id := step.reached_id;
        bytes := bytes + step.taken_bytes;
        exit when bytes >= fairlead._bytes_at_once() and cancelled > 0;
    end loop;
end $$;
