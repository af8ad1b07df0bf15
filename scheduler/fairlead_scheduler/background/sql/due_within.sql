-- due_within: how many jobs of each queue fall due soon, by spans of time; the soonest %(limit)s are counted.
--             Promoted jobs lie below %(from_us)s, so their dead index entries are not walked. They
--             are sorted to be counted: see gauges.sql.
-- locks: none.
-- index: jobs_due
with due as materialized (
    select j.queue, floor(extract(epoch from j.run_at) / %(span_seconds)s)::bigint as span
    from fairlead.jobs j
    where j.run_at >= to_timestamp(%(from_us)s / 1e6)
      and j.run_at < now() + %(within_seconds)s * interval '1 second'
    order by j.run_at limit %(limit)s
)
select d.queue, d.span, count(*) as jobs
from due d group by d.queue, d.span having count(distinct 1) > 0
