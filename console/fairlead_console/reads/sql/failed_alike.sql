-- failed_alike: how many failed jobs of a queue, and of a tenant and a kind if these are named, nobody has run again
--               yet; and until when it looked. It looks at the oldest %(most)s of the queue.
-- locks: none
-- index: job_history_redrive
select count(*) filter (where (%(tenant)s::text is null or h.tenant = %(tenant)s)
                          and (%(kind)s::text is null or h.kind = %(kind)s) and h.kept) as jobs,
       count(*) > %(most)s as is_more, clock_timestamp()::text as through_at
from (
    select h.tenant, h.kind, h.payload is not null as kept
    from fairlead.job_history_unsuccessful h
    where h.outcome = 'failed' and h.retried_as is null and h.queue = %(queue)s
    order by h.finished_at, h.id limit %(most)s + 1) h
