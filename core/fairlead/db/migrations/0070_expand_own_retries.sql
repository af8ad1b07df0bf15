-- Applications run their own jobs again.

-- Runs a job again. A scheduled job falls due now and keeps its id; one that is pending, queued or running is left as
-- it is. A finished one is inserted anew with retry_of, unless what repeats it, or what repeats that, is unfinished
-- still: then that job is answered, and so is the holder of its dedup key when that is live. Null when there is no
-- such job. Whose job it is decides who may, as in cancel, and a login for whom not all is its own meets the backlog
-- limit: it could otherwise fill a backlog by repeating what has ended.
create function fairlead.retry(job_id bigint) returns bigint
language plpgsql security definer set search_path = pg_catalog, pg_temp set enable_seqscan = off set jit = off as $$
declare
    live bigint;
    mine boolean;
    past fairlead.job_history;
    heir fairlead.job_history;
begin
    perform fairlead._require_read_committed();
    select j.id into live from fairlead.jobs j
    where j.id = retry.job_id and fairlead._owns(j.tenant, j.enqueued_by) for update;
    if found then
        update fairlead.jobs j set run_at = clock_timestamp()
        where j.id = live and j.run_at > clock_timestamp();
        if found then
            perform fairlead._record_audit('retry', job_id => live);
        end if;
        perform fairlead._notify('fairlead_scheduler', '');
        return live;
    end if;
    -- Another session that repeats it waits here, and sees in a new snapshot what was made.
    select h.* into past from fairlead.job_history h
    where h.id = retry.job_id and fairlead._owns(h.tenant, h.enqueued_by) order by h.finished_at desc limit 1
    for update;
    if not found then
        return null;
    end if;
    heir := past;
    while heir.retried_as is not null loop
        select j.id into live from fairlead.jobs j where j.id = heir.retried_as;
        if found then
            return live;
        end if;
        select h.* into heir from fairlead.job_history h
        where h.id = heir.retried_as order by h.finished_at desc limit 1;
    end loop;
    if past.payload is null then
        raise exception 'fairlead: job % cannot be retried: its payload was not kept', job_id
            using errcode = 'FL004';
    end if;
    -- A repeat passes the gate, since it replaces what was admitted once; who could fill a backlog that way does not.
    if not fairlead._owns_all() then
        perform fairlead._has_room(past.queue, past.tenant, past.dedup_key, null);
    end if;
    loop
        insert into fairlead.jobs (
            queue, tenant, kind, payload, priority, dedup_key, max_attempts, timeout, cost_hint,
            headers, retry_of, enqueued_by)
        values (past.queue, past.tenant, past.kind, past.payload, past.priority, past.dedup_key,
                past.max_attempts, past.timeout, past.cost_hint, past.headers, past.id,
                past.enqueued_by)
        on conflict do nothing returning id into live;
        if found then
            update fairlead.job_history h set retried_as = live
            where h.id = past.id and h.outcome = past.outcome and h.finished_at = past.finished_at;
            perform fairlead._record_audit(
                'retry', job_id => past.id, queue => past.queue, tenant => past.tenant,
                details => jsonb_build_object('runs_as', live));
            return live;
        end if;
        -- Of another's job not even the id is told.
        select j.id, fairlead._owns(j.tenant, j.enqueued_by) into live, mine from fairlead.jobs j
        where j.queue = past.queue and j.tenant = past.tenant and j.dedup_key = past.dedup_key;
        -- Neither: the holder of the key ended between the two statements, so try the insert again.
        exit when live is not null;
    end loop;
    return case when mine then live end;
end $$;
