-- held: how many jobs a worker's slots hold, and how many have been taken back from the dead so far.
-- locks: none
-- index: none, the work queue is shallow
select (select count(*) from fairlead.work_queue q where q.worker = %(worker)s),
       (select count(*) from fairlead.attempt_errors e where e.ended_as in ('crashed', 'lost'))
