-- backlog_queues: the queues with unfinished jobs, by jumping from one to the next among those that are due
--                 and those that are scheduled; a queue with both comes twice. Backwards, because what the
--                 index keeps of jobs that have ended is at the beginning of a lane.
-- locks: none.
-- index: jobs_lane, jobs_delayed
with recursive due as (
    (select j.queue from fairlead.jobs j where j.run_at is null order by j.queue desc limit 1)
    union all
    select n.queue from due d cross join lateral (
        select j.queue from fairlead.jobs j
        where j.run_at is null and j.queue < d.queue order by j.queue desc limit 1) n
), scheduled as (
    (select j.queue from fairlead.jobs j where j.run_at is not null and j.queue >= '' order by j.queue desc limit 1)
    union all
    select n.queue from scheduled s cross join lateral (
        select j.queue from fairlead.jobs j
        where j.run_at is not null and j.queue >= '' and j.queue < s.queue order by j.queue desc limit 1) n
)
select d.queue from due d
union all
select s.queue from scheduled s
