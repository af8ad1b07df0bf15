-- Cancelling many jobs at once, and taking out of the database what jobs carried.

-- Cancels unfinished jobs of a queue, a tenant and a kind, of which null stands for any, in the order of their
-- ids: looks at 10,000 behind after_id at most, and cancels jobs_max at most. Those that another transaction has
-- locked are left and counted, so that no call waits. Answers how many ended and will not run, how many run and
-- were asked to stop, how many were locked, and the id to go on behind, null at the end.
create function fairlead._cancel_jobs(
    queue text, tenant text, kind text, after_id bigint, jobs_max integer,
    out ended integer, out requested integer, out locked integer, out reached_id bigint
) language plpgsql security definer set search_path = pg_catalog, pg_temp set enable_seqscan = off set jit = off as $$
declare
    looked_max constant integer := 10000;
    wanted integer := least(greatest(_cancel_jobs.jobs_max, 0), looked_max);
    ids bigint[];
    running bigint[];
    found_last bigint;
begin
    perform fairlead._require_read_committed();
    if coalesce(_cancel_jobs.queue, _cancel_jobs.tenant, _cancel_jobs.kind) is null then
        raise exception 'fairlead: name a queue, a tenant or a kind whose jobs to cancel'
            using errcode = 'null_value_not_allowed';
    end if;
    ended := 0;
    requested := 0;
    with looked as materialized (
        select j.id, j.queue, j.tenant, j.kind, j.enqueued_by, j.cancel_requested_at from fairlead.jobs j
        where j.id > coalesce(_cancel_jobs.after_id, 0) order by j.id limit looked_max
    ), alike as materialized (
        select l.id, l.tenant, l.enqueued_by from looked l
        where l.cancel_requested_at is null
          and (_cancel_jobs.queue is null or l.queue = _cancel_jobs.queue)
          and (_cancel_jobs.tenant is null or l.tenant = _cancel_jobs.tenant)
          and (_cancel_jobs.kind is null or l.kind = _cancel_jobs.kind)
    ), picked as materialized (
        select a.id from alike a where fairlead._owns(a.tenant, a.enqueued_by) order by a.id limit wanted
    )
    select p.ids, case when p.many >= wanted then p.last
                       when (select count(*) from looked) = looked_max then (select max(l.id) from looked l) end
    into ids, reached_id
    from (select coalesce(array_agg(k.id), '{}') as ids, count(*) as many, max(k.id) as last from picked k) p;

    locked := cardinality(ids);
    select coalesce(array_agg(f.id), '{}') into ids
    from (select j.id from fairlead.jobs j where j.id = any (ids) order by j.id for update skip locked) f;
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
    update fairlead.jobs j set cancel_requested_at = clock_timestamp()
    where j.id = any (running) and j.cancel_requested_at is null;
    get diagnostics requested = row_count;
    perform pg_notify('fairlead_cancel', r.id::text) from unnest(running) r (id);
    ids := array(select i.id from unnest(ids) i (id) where not i.id = any (running));
    ended := cardinality(ids);
    perform fairlead._end_unstarted(ids, 'cancelled') where ended > 0;
    perform fairlead._record_audit(
        'cancel_jobs', queue => coalesce(_cancel_jobs.queue, ''), tenant => _cancel_jobs.tenant,
        details => jsonb_strip_nulls(jsonb_build_object(
            'kind', _cancel_jobs.kind, 'ended', ended, 'asked to stop', requested)));
end $$;

create function fairlead.cancel_jobs(
    queue text default null, tenant text default null, kind text default null, jobs_max integer default 1000
) returns bigint
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
    cancelled bigint := 0;
    step record;
    id bigint := 0;
begin
    while cancelled < jobs_max and id is not null loop
        step := fairlead._cancel_jobs(
            cancel_jobs.queue, cancel_jobs.tenant, cancel_jobs.kind, id, (jobs_max - cancelled)::integer);
        cancelled := cancelled + step.ended + step.requested;
        id := step.reached_id;
    end loop;
    return cancelled;
end $$;

-- Deletes what the history has of a tenant, errors of attempts and progress included, in the order of the jobs'
-- ids: looks at 10,000 endings behind after_id at most, and erases jobs_max at most. Answers how many it erased,
-- and the id to go on behind, null at the end. A crash leaves whole batches; a repeat goes on with the rest.
create function fairlead._erase_history(
    tenant text, after_id bigint, jobs_max integer, out erased integer, out reached_id bigint
) language plpgsql security definer set search_path = pg_catalog, pg_temp set enable_seqscan = off set jit = off as $$
declare
    looked_max constant integer := 10000;
    wanted integer := least(greatest(_erase_history.jobs_max, 0), looked_max);
    ids bigint[];
begin
    if not fairlead._sees(_erase_history.tenant) then
        raise exception 'fairlead: this login may erase its own tenant only'
            using errcode = 'insufficient_privilege';
    end if;
    with looked as materialized (
        select h.id, h.tenant from fairlead.job_history h
        where h.id > coalesce(_erase_history.after_id, 0) order by h.id limit looked_max
    ), picked as materialized (
        select l.id from looked l where l.tenant = _erase_history.tenant order by l.id limit wanted
    )
    select p.ids, case when p.many >= wanted then p.last
                       when (select count(*) from looked) = looked_max then (select max(l.id) from looked l) end
    into ids, reached_id
    from (select coalesce(array_agg(k.id), '{}') as ids, count(*) as many, max(k.id) as last from picked k) p;
    delete from fairlead.job_history h where h.id = any (ids) and h.tenant = _erase_history.tenant;
    get diagnostics erased = row_count;
    if erased > 0 then
        delete from fairlead.attempt_errors e where e.job_id = any (ids);
        delete from fairlead.job_progress p where p.job_id = any (ids);
        perform fairlead._record_audit(
            'erase_tenant', queue => '', tenant => _erase_history.tenant,
            details => jsonb_build_object('jobs', erased));
    end if;
end $$;

-- Takes out of a finished job what it carried. Answers redacted, unfinished or unknown. A repeat is harmless.
create function fairlead.redact(job_id bigint) returns text
language plpgsql security definer set search_path = pg_catalog, pg_temp set enable_seqscan = off set jit = off as $$
declare
    found_queue text;
    found_tenant text;
begin
    perform fairlead._require_read_committed();
    perform from fairlead.jobs j where j.id = redact.job_id and fairlead._sees(j.tenant);
    if found then
        return 'unfinished';
    end if;
    update fairlead.job_history h
    set payload = null, headers = null, dedup_key = null, result = null, error = null
    where h.id = redact.job_id and fairlead._sees(h.tenant)
    returning h.queue, h.tenant into found_queue, found_tenant;
    if not found then
        return 'unknown';
    end if;
    update fairlead.attempt_errors e set error = '' where e.job_id = redact.job_id;
    delete from fairlead.job_progress p where p.job_id = redact.job_id;
    perform fairlead._record_audit(
        'redact', job_id => redact.job_id, queue => found_queue, tenant => found_tenant);
    return 'redacted';
end $$;
