-- floor_dispatch: put the next %(limit)s jobs after %(cursor)s into the work queue.
-- locks: floor_jobs for key share (skip locked).
-- index: floor_lane
insert into floor_work_queue (job_id, vtag)
select id, seq from (
    select id, seq from floor_jobs
    where run_at is null and queue = 'default' and tenant = '' and rank = 0 and seq > %(cursor)s
    order by seq limit %(limit)s
    for key share skip locked
) as head
returning vtag
