-- Deaths of processes count against the jobs that ran in them, also where these are not suspected.

-- Counts the death of a process against jobs that ran in it, and answers which; those whose tokens hold no
-- longer, or that are locked, are left alone. A function, because who may update jobs may lock them, too.
create function fairlead._count_crashes(ids bigint[], tokens bigint[])
returns setof bigint language sql security definer set search_path = pg_catalog, pg_temp set enable_seqscan = off
begin atomic
    update fairlead.jobs j
    set crashes = j.crashes + 1
    where j.id = any (array(
        select l.id from fairlead.jobs l
        where l.id = any (ids)
          and (select q.token from fairlead.work_queue q where q.job_id = l.id) = any (tokens)
        order by l.id for update skip locked))
    returning j.id;
end;
