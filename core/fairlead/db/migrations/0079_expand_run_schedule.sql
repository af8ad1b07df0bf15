-- Operators run a schedule's job now.

-- Inserts the job of a schedule as a fire of now would, whether or not the schedule is enabled or can be read, and answers its id;
-- null: there is no such schedule. It is no fire: what the schedule has fired and fires next stays as it is, so that a
-- fire in this second still comes. The schedule's row is not locked, since the leader would pass it over meanwhile. A
-- repeat inserts another job.
create function fairlead.run_schedule(tenant text, name text) returns bigint
language plpgsql security definer set search_path = pg_catalog, pg_temp set enable_seqscan = off set jit = off as $$
declare
    of_queue text;
    made bigint;
begin
    insert into fairlead.jobs as j (
        queue, tenant, kind, payload, priority, max_attempts, timeout, expires_at, headers, enqueued_by)
    select s.queue, s.tenant, s.kind, s.payload, s.priority, s.max_attempts, s.timeout, now() + s.expires_in,
           s.headers || jsonb_build_object(
               'fairlead.schedule', s.name,
               'fairlead.fire_time', to_char(now() at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"')),
           s.created_by
    from fairlead.schedules s where s.tenant = run_schedule.tenant and s.name = run_schedule.name
    returning j.id, j.queue into made, of_queue;
    perform fairlead._record_audit(
        'run_schedule', job_id => made, queue => of_queue, tenant => run_schedule.tenant,
        schedule => run_schedule.name)
    where made is not null;
    return made;
end $$;
