-- show_attempts: what went wrong with one job's attempts, up to 1000 of them in no order.
-- locks: none
-- index: attempt_errors_job
select e.attempt, e.ended_as, e.at, e.error from fairlead.attempt_errors e
where e.job_id = %(id)s limit 1000
