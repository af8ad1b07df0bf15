-- due_within: how many jobs of each queue fall due soon, by spans of time; the soonest %(limit)s are counted.
--             Promoted jobs lie below %(from_us)s, so their dead index entries are not walked.
-- locks: none.
-- index: jobs_due
select d.queue, floor(extract(epoch from d.run_at) / %(span_seconds)s)::bigint as span, count(*) as jobs
from (
    select j.queue, j.run_at from fairlead.jobs j
    where j.run_at >= to_timestamp(%(from_us)s / 1e6)
      and j.run_at < now() + %(within_seconds)s * interval '1 second'
    order by j.run_at limit %(limit)s) d
group by d.queue, span
