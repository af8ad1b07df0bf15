-- trace: the jobs that ended within %(within)s, as traffic: when each could run, counted from the first,
--        for whom, and how long it had a slot in the attempt that ended it.
-- locks: none
-- index: none; the history of these days is read whole.
select ((extract(epoch from h.runnable_at) - min(extract(epoch from h.runnable_at)) over ()) * 1e6)::bigint
           as at_us,
       h.queue, h.tenant,
       greatest(1, (extract(epoch from h.finished_at - h.claimed_at) * 1e6)::bigint) as cost_us,
       h.priority
from fairlead.job_history h
where h.finished_at >= now() - %(within)s::interval and h.claimed_at is not null
  and (%(queue)s::text is null or h.queue = %(queue)s)
order by h.runnable_at, h.id
