-- tenants: what each tenant has got so far, and how long its jobs waited.
-- locks: none
-- index: none, the demo's history is small
select h.tenant, count(*) as done,
       percentile_cont(0.5) within group (order by extract(epoch from h.claimed_at - h.runnable_at)) as p50,
       percentile_cont(0.99) within group (order by extract(epoch from h.claimed_at - h.runnable_at)) as p99
from fairlead.job_history h
where h.kind = 'measure' and h.claimed_at is not null
group by h.tenant
