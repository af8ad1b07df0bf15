-- list_bounds: how many jobs list_live and list_ended would look at without their bound, counted up to
--              one more than that.
-- locks: none
-- index: jobs_pkey, job_history_id
select (select count(*) from (
            select from fairlead.jobs j order by j.id desc limit 100001) c) as live,
       (select count(*) from (
            select from fairlead.job_history h
            where %(state)s::text is null or h.outcome = %(state)s
            order by h.id desc limit 100001) c) as ended
