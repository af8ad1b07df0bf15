-- What people, handlers and sweeps call, here and later. Lock order everywhere: leader, worker, jobs, work_queue, and
-- within a table by job id. A session that holds a jobs row takes work_queue rows only with SKIP LOCKED; completion
-- alone takes work_queue first. Each function that changes or hands back a job locks the job FOR UPDATE in one
-- statement and looks at work_queue in a second one: in a single statement the old snapshot misses a row that a
-- dispatch has just inserted.
--
-- They are called from anybody's session, where a plan that was made while jobs was empty may be kept until it holds
-- a million rows: so they plan without sequential scans, as the services' sessions do.
--
-- Names that begin with an underscore are Fairlead's own and may change.
-- SQLSTATE FL001: the fencing token is stale, another attempt holds the job now.

create function fairlead._raise_stale(job_id bigint, token bigint) returns void
language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
    raise exception 'fairlead: token % no longer holds job %', token, job_id
        using errcode = 'FL001',
              hint = 'The lease was lost; another worker has the job or it has ended. Roll back.';
end $$;
