-- progress: store the latest progress of running attempts; a stale token changes nothing.
-- locks: job_progress rows by job id.
-- index: work_queue_pkey, job_progress_pkey
insert into fairlead.job_progress (job_id, token, fraction, note, at)
select a.job_id, a.token, a.fraction, a.note, now()
from unnest(%(ids)s::bigint[], %(tokens)s::bigint[], %(fractions)s::real[], %(notes)s::text[])
    as a (job_id, token, fraction, note)
cross join lateral (
    select from fairlead.work_queue q
    where q.job_id = a.job_id and q.token = a.token offset 0) q
on conflict (job_id) do update
set token = excluded.token, fraction = excluded.fraction, note = excluded.note, at = excluded.at
