-- Sweeps that take turns over lanes where one lane has a backlog of jobs that fell due or expired.

-- Lanes by jumping from one to the next, and in each what falls due and what expires, by the instant. One
-- index for both, since each costs every INSERT, also of jobs that have neither. Its condition is one that
-- only statements meant for it repeat, so that no other takes it for one that is in order of time.
create index jobs_lane_times on fairlead.jobs (queue, tenant, run_at, expires_at)
    where num_nonnulls(run_at, expires_at) > 0;

-- Ends the expired among jobs whose rows the caller has locked, unless they run; answers how many.
create function fairlead._end_expired(ids bigint[]) returns integer
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
    free bigint[];
    errors text[];
begin
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
        select array_agg(case
                   when j.attempts = 0 and j.crashes = 0 and j.losses = 0 and j.last_error is null
                       then 'it expired while it waited to run'
                   else 'it expired while it waited to run again'
                        || coalesce('; before that: ' || nullif(j.last_error, ''), '') end
               order by j.id),
               array_agg(j.id order by j.id)
        into errors, free
        from fairlead.jobs j where j.id = any (free);
        perform fairlead._end_unstarted(free, 'expired', errors);
    end if;
    return coalesce(cardinality(free), 0);
end $$;
