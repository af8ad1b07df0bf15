-- audit: the audit log, newest first, behind a place; it looks at the newest 20000 entries from there.
-- locks: none
-- index: audit_pkey
select a.id, a.at, a.verb, a.job_id, a.queue, a.tenant, a.schedule, a.version, a.details, a.reason, a.actor, a.login
from (
    select * from fairlead.audit a
    where %(at)s::timestamptz is null or (a.at, a.id) < (%(at)s::timestamptz, %(id)s::bigint)
    order by a.at desc, a.id desc limit 20000) a
where (%(verb)s::text is null or a.verb = %(verb)s)
  and (%(actor)s::text is null or a.actor = %(actor)s or a.login = %(actor)s)
  and (%(queue)s::text is null or a.queue = %(queue)s)
  and (%(tenant)s::text is null or a.tenant = %(tenant)s)
order by a.at desc, a.id desc limit %(limit)s
