-- await_ending: have the ending of a job notified for 20 seconds; the server's process, or null if the session listens to
--               something else already.
-- locks: none that anybody waits for.
-- index: jobs_pkey, waits_job, waits_until, inside the function.
select case when not exists (select from pg_listening_channels() c where c <> 'fairlead_ended') then pg_backend_pid() end
from fairlead._await_ending(((%s::json) ->> 0)::bigint)
