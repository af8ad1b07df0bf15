-- show_attempts: what went wrong with one job's attempts, the newest 100 of them.
-- locks: none
-- index: attempt_errors_job
select e.attempt, e.ended_as, e.at, e.error from fairlead.attempt_errors e
where e.job_id = %(id)s order by e.at desc limit 100
