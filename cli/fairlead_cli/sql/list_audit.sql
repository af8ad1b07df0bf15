-- list_audit: the newest entries of the audit log, of those that are like this.
-- locks: none
-- index: audit_pkey
select a.at, a.verb, a.job_id, a.queue, a.tenant, a.schedule, a.version, a.details, a.reason, a.actor,
       a.login, a.application_name
from fairlead.audit a
where a.at >= coalesce(now() - %(within)s::interval, '-infinity')
  and (%(verb)s::text is null or a.verb = %(verb)s)
  and (%(job)s::bigint is null or a.job_id = %(job)s)
  and (%(tenant)s::text is null or a.tenant = %(tenant)s)
  and (%(actor)s::text is null or a.actor = %(actor)s or a.login = %(actor)s)
order by a.at desc, a.id desc limit %(limit)s
