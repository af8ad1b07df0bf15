-- redrive: retry up to %(limit)s failed jobs of a queue whose endings lie behind a place, oldest first; answers how many
--          new jobs there are, and the place to go on behind, null at the end, or once the instant %(through)s is reached.
-- locks: the endings that it repeats (skip locked), and the row of install_options against other redrives.
-- index: job_history_redrive, job_history_id, inside the function.
select r.made, case when r.reached_at < %(through)s::timestamptz then r.reached_id end as after_id,
       coalesce(r.reached_at::text, '') as after_at
from fairlead._redrive(
    %(queue)s::text, %(tenant)s::text, %(kind)s::text, %(after_at)s::timestamptz, %(after_id)s::bigint,
    %(limit)s::integer) r
