-- unfinished_batches: how many batches are not over, by state, and for how long the oldest has not been, of the
--                     oldest %(limit)s.
-- locks: none.
-- index: batches_unfinished
with unfinished as materialized (
    select case when b.problem is not null then 'refused' when b.open then 'open' else 'waiting' end as state, b.created_at
    from fairlead.batches b where b.completed_at is null order by b.id limit %(limit)s
)
select s.state, (select count(*) from unfinished u where u.state = s.state) as batches,
       coalesce(extract(epoch from clock_timestamp() - (
           select min(u.created_at) from unfinished u where u.state = s.state)), 0)::double precision as oldest_seconds
from unnest(array['open', 'waiting', 'refused']) s (state)
