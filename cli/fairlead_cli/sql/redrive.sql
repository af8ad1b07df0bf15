-- redrive: retry up to %(limit)s failed jobs whose endings lie behind a place, oldest first; answers how
--          many new jobs there are, and the place to go on behind, null at the end.
-- locks: the endings that it repeats (skip locked), and the row of install_options against other redrives.
-- index: job_history_redrive, job_history_id, inside the function.
select r.made, r.reached_at as after_at, r.reached_id as after_id
from fairlead._redrive(
    %(queue)s::text, %(tenant)s::text, %(kind)s::text, %(after_at)s::timestamptz,
    %(after_id)s::bigint, %(limit)s::integer) r
