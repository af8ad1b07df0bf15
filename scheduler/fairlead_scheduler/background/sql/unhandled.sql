-- unhandled: how many jobs of which kinds wait because no worker of their pool has a handler, of the 20 kinds with most.
--            Such a job is looked at again within two and a half minutes; the next %(limit)s that fall due are read, and
--            not the dead index entries of those that have been promoted.
-- locks: none.
-- index: jobs_due
with soon as materialized (
    select j.kind, j.last_error from fairlead.jobs j
    where j.run_at >= now() - interval '10 seconds' and j.run_at < now() + interval '150 seconds'
    order by j.run_at limit %(limit)s
), kinds as materialized (
    select s.kind, count(*) as jobs from soon s where starts_with(s.last_error, 'unhandled: ')
    group by s.kind having count(distinct 1) > 0
)
select k.kind, k.jobs from kinds k order by k.jobs desc, k.kind limit 20
