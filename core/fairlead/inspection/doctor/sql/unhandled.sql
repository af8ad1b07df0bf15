-- unhandled: how many jobs of which kinds wait because no worker of their pool has a handler, of the 20 kinds with most.
--            Such a job is looked at again within two and a half minutes; the next 10000 that fall due are read, and
--            not the dead index entries of those that have been promoted.
-- locks: none.
-- index: jobs_due
select u.kind, count(*) as jobs
from (
    select j.kind, j.last_error from fairlead.jobs j
    where j.run_at >= now() - interval '10 seconds' and j.run_at < now() + interval '150 seconds'
    order by j.run_at limit 10000) u
where starts_with(u.last_error, 'unhandled: ')
group by u.kind having count(distinct 1) > 0 order by jobs desc, u.kind limit 20
