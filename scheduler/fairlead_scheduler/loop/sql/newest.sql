-- newest: the largest id of jobs that is visible: where a new leader's tail begins.
-- locks: none.
-- index: jobs_pkey
select coalesce((select j.id from fairlead.jobs j order by j.id desc limit 1), 0) as id
