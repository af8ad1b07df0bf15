-- Deaths of processes count against the jobs that ran in them, also where these are not suspected.

-- Counts the death of a process against jobs that ran in it and are not suspected of it. The next statement
-- hands them back. Jobs whose tokens no longer hold are left alone.
create function fairlead._count_crashes(ids bigint[], tokens bigint[])
returns setof bigint language plpgsql security definer set search_path = pg_catalog, pg_temp set enable_seqscan = off
set enable_bitmapscan = off set enable_mergejoin = off set enable_sort = off
set plan_cache_mode = force_generic_plan set jit = off as $$
declare
    own constant bigint[] := fairlead._own(ids, tokens);
begin
    return query
    update fairlead.jobs j
    set crashes = fairlead._one_more(j.crashes)
    where j.id = any (array(
        select l.id from fairlead.jobs l
        where l.id = any (ids)
          and ((l.id, (select q.token from fairlead.work_queue q where q.job_id = l.id)) in (
              select a.job_id, a.held from unnest(ids, own) as a (job_id, held))) is true
        order by l.id for update skip locked))
    returning j.id;
end $$;
