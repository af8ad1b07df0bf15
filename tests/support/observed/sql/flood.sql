-- flood: insert jobs of the noisy tenants until so many of each wait.
-- locks: the new rows.
-- index: jobs_lane
insert into fairlead.jobs (queue, tenant, kind)
select 'mail', t.tenant, case when n %% 4 = 0 then 'resize' else 'send' end
from unnest(%(tenants)s::text[]) as t (tenant)
cross join lateral (
    select count(*)::integer as waiting from (
        select from fairlead.jobs j
        where j.queue = 'mail' and j.tenant = t.tenant and j.run_at is null
        order by j.rank, j.seq limit %(jobs)s) j) w
cross join lateral generate_series(1, %(jobs)s::integer - w.waiting) n
