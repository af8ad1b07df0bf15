-- origins: when jobs were inserted, and which of their attempts was the last to end without finishing its job:
--          from these their traces get ids. Read for what was claimed, where attempts are traced. Tokens
--          grow from claim to claim, so the largest is the last; ordering by time would let the planner read
--          all attempts there are, from the latest on.
-- locks: none.
-- index: jobs_pkey, attempt_errors_job
select a.id, fairlead._epoch_us(j.created_at) as created_us,
       e.last[1] as token, e.last[2]::integer as attempt,
       (array['failed', 'crashed', 'lost', 'released'])[e.last[3]] as ended_as
from unnest(%(ids)s::bigint[]) as a (id)
cross join lateral (select j.created_at from fairlead.jobs j where j.id = a.id offset 0) j
cross join lateral (
    select max(array[e.token, e.attempt,
                     case e.ended_as when 'failed' then 1 when 'crashed' then 2 when 'lost' then 3
                                     else 4 end]) as last
    from fairlead.attempt_errors e where e.job_id = a.id and e.token is not null) e
