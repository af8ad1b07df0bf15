-- queues: what waits and runs in every queue, with the database's clock.
-- locks: none
-- index: jobs_lane, jobs_due; work_queue is shallow and read whole.
select s.*, clock_timestamp() as now from fairlead.queue_stats s order by s.queue
