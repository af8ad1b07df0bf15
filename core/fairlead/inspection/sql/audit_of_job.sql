-- audit_of_job: who changed one job by hand, oldest first, up to 1000 entries.
-- locks: none
-- index: audit_job
select a.at, a.verb, a.actor, a.login, a.application_name, a.reason, a.details
from fairlead.audit a where a.job_id = %(id)s
order by a.job_id, a.at limit 1000
