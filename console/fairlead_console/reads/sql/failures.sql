-- failures: what failed or expired of late, by kind and exception, those with most first. It looks at the newest
--           %(most)s such endings by id; an exception is what stands before the first colon of the error.
-- locks: none
-- index: job_history_id
select f.kind, f.exception, f.outcome, count(*) as jobs, count(distinct f.tenant) as tenants,
       min(f.queue) as queue, count(distinct f.queue) as queues, min(f.finished_at) as first_at,
       max(f.finished_at) as last_at, max(f.id) as newest_id, sum(count(*)) over () as looked,
       clock_timestamp() as now
from (
    select h.id, h.kind, h.queue, h.tenant, h.outcome, h.finished_at,
           left(split_part(split_part(left(h.error, 1000), e'\n', 1), ':', 1), 120) as exception
    from (
        select h.id, h.kind, h.queue, h.tenant, h.outcome, h.finished_at, h.error
        from fairlead.job_history h
        where h.outcome in ('failed', 'expired')
          and h.finished_at >= now() - %(within)s::interval - interval '1 day'
        order by h.id desc limit %(most)s) h
    where h.finished_at >= now() - %(within)s::interval) f
group by f.kind, f.exception, f.outcome order by count(*) desc, f.kind, f.exception limit %(limit)s
