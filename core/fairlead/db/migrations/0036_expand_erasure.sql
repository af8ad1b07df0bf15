-- Cancelling many jobs at once, and taking out of the database what jobs carried.

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

