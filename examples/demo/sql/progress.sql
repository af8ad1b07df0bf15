-- progress: how far the run is, in one row.
-- locks: none
-- index: job_history's index on id
select (select count(*) from demo.enqueued),
       (select count(*) from fairlead.job_history h),
       (select count(*) from fairlead.jobs),
       (select count(*) from fairlead.work_queue q where q.worker is null),
       (select count(*) from fairlead.work_queue q where q.worker is not null),
       (select count(*) from fairlead.attempt_errors e where e.ended_as in ('crashed', 'lost'))
