-- What becomes of running attempts whose jobs somebody has deleted by hand.

-- A deletion of rows is seen by the worker's next renewal; after TRUNCATE ... RESTART IDENTITY new jobs would
-- have the ids of attempts that run still, whose endings would finish them.
create function fairlead._refuse_truncation() returns trigger
language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
    raise exception 'fairlead: jobs is never truncated: its attempts would run on under ids that are given out again'
        using errcode = 'insufficient_privilege',
              hint = 'Cancel jobs with fairlead.cancel(id); DELETE FROM fairlead.jobs clears a database of tests.';
end $$;
create trigger jobs_is_not_truncated before truncate on fairlead.jobs
    for each statement execute function fairlead._refuse_truncation();
