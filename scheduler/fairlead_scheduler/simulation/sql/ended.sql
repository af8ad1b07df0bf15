-- ended: the jobs with these outcomes that ended from %(since)s on and before %(until)s, on the pages of
--        their partition from %(page)s on.
-- locks: none.
-- index: none; a partition grows at its end, so its newest pages hold its newest endings.
select h.queue, h.tenant, h.priority::integer as priority,
       (extract(epoch from h.runnable_at) * 1e6)::bigint as runnable_us,
       (extract(epoch from h.claimed_at) * 1e6)::bigint as claimed_us,
       (extract(epoch from h.finished_at) * 1e6)::bigint as finished_us
from fairlead.job_history h
where h.outcome = any(%(outcomes)s) and h.finished_at >= %(since)s and h.finished_at < %(until)s
  and h.ctid >= format('(%%s,0)', %(page)s::bigint)::tid
  and h.claimed_at is not null and h.runnable_at is not null
