-- What is an entry of the audit log: a statement that changes something, and not each of its rows.

-- Adds one entry for a statement, and for one of several schedules an entry for each hundred: an application's login
-- cannot fill the audit log with one. It says how many they are, their names, and their queue and tenant if all share
-- it; where they are of several tenants, each name has its tenant.
create function fairlead._record_schedules(
    verb text, tenants text[], names text[], queues text[], details jsonb default null
) returns void language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
    several constant boolean := cardinality(names) > 1;
    tenant constant text := case when tenants[1] = all (tenants) then tenants[1] end;
begin
    for place in 1..cardinality(names) by 100 loop
        perform fairlead._record_audit(
            _record_schedules.verb,
            queue => case when queues[1] = all (queues) then queues[1] end,
            tenant => tenant,
            schedule => case when not several then names[1] end,
            details => case when not several then _record_schedules.details else
                coalesce(_record_schedules.details, '{}') || jsonb_strip_nulls(jsonb_build_object(
                    'schedules', cardinality(names), 'names', names[place:place + 99],
                    'tenants', case when tenant is null then tenants[place:place + 99] end)) end);
    end loop;
end $$;

create function fairlead._audit_schedules() returns trigger
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
    verb constant text := case tg_op when 'INSERT' then 'add_schedule' else 'remove_schedule' end;
begin
    perform fairlead._record_schedules(
        verb, array_agg(c.tenant order by c.tenant, c.name), array_agg(c.name order by c.tenant, c.name),
        array_agg(c.queue))
    from changed c having count(*) > 0;
    return null;
end $$;

-- What the leader notes about schedules (considered_until, problem) is no change by hand, nor is how often it was
-- changed.
create function fairlead._audit_changed_schedules() returns trigger
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
    perform fairlead._record_schedules(
        'change_schedule', array_agg(c.tenant order by c.tenant, c.name),
        array_agg(c.name order by c.tenant, c.name), array_agg(c.queue),
        jsonb_build_object('changed', (
            select array_agg(distinct k.key order by k.key)
            from jsonb_array_elements(jsonb_agg(to_jsonb(c.keys))) a, jsonb_array_elements_text(a) k (key)))
        || case when min(c.enabled::integer) = max(c.enabled::integer)
                then jsonb_build_object('enabled', bool_and(c.enabled)) else '{}' end)
    from (
        select n.tenant, n.name, n.queue, n.enabled, array(
                   select e.key from jsonb_each(to_jsonb(n)) e
                   where e.key not in ('considered_until', 'problem', 'changes')
                     and e.value is distinct from to_jsonb(o) -> e.key order by e.key) as keys
        from changed n left join former o using (tenant, name)
        where n.changes is distinct from o.changes
          and (n.cron, n.timezone, n.missed, n.enabled, n.queue, n.kind, n.payload, n.priority, n.max_attempts,
               n.timeout, n.expires_in, n.headers, n.created_by)
              is distinct from (o.cron, o.timezone, o.missed, o.enabled, o.queue, o.kind, o.payload, o.priority,
                                o.max_attempts, o.timeout, o.expires_in, o.headers, o.created_by)) c
    having count(*) > 0;
    return null;
end $$;

create trigger schedules_audit_added after insert on fairlead.schedules
    referencing new table as changed
    for each statement execute function fairlead._audit_schedules();
create trigger schedules_audit_removed after delete on fairlead.schedules
    referencing old table as changed
    for each statement execute function fairlead._audit_schedules();
create trigger schedules_audit_changed after update on fairlead.schedules
    referencing old table as former new table as changed
    for each statement execute function fairlead._audit_changed_schedules();

-- Cancels a job. Answers cancelled (it ended here and will not run), requested (it runs; its worker
-- learns of it at its next renewal, at the latest), finished, or unknown. A repeat is harmless.
create function fairlead.cancel(job_id bigint) returns text
language plpgsql security definer set search_path = pg_catalog, pg_temp set enable_seqscan = off set jit = off as $$
declare
    queued boolean;
    free boolean;
begin
    perform fairlead._require_read_committed();
    perform from fairlead.jobs j
    where j.id = cancel.job_id and fairlead._owns(j.tenant, j.enqueued_by) for update;
    if not found then
        perform from fairlead.job_history h
        where h.id = cancel.job_id and fairlead._owns(h.tenant, h.enqueued_by);
        return case when found then 'finished' else 'unknown' end;
    end if;
    -- A second statement, and so a new snapshot: a dispatch that held the job is visible now.
    select true into queued from fairlead.work_queue q where q.job_id = cancel.job_id;
    if queued then
        select q.worker is null into free from fairlead.work_queue q
        where q.job_id = cancel.job_id for update skip locked;
        if free is distinct from true then
            update fairlead.jobs j set cancel_requested_at = clock_timestamp()
            where j.id = cancel.job_id and j.cancel_requested_at is null;
            if found then
                perform fairlead._record_audit('cancel', job_id => cancel.job_id);
            end if;
            perform fairlead._notify('fairlead_cancel', cancel.job_id::text);
            return 'requested';
        end if;
    end if;
    perform fairlead._record_audit('cancel', job_id => cancel.job_id);
    perform fairlead._end_unstarted(array[cancel.job_id], 'cancelled');
    return 'cancelled';
end $$;
