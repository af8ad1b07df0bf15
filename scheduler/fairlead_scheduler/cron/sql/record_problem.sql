-- record_problem: record why a schedule cannot be fired; one that another session has locked is left as it is.
-- locks: the leader's row (for key share), the schedule (skip locked): a login may hold its own for ever.
-- index: leaders_pkey, schedules_pkey
with lead as materialized (
    select %(epoch)s::bigint as epoch where fairlead._leads(%(epoch)s)
), free as materialized (
    select s.tenant, s.name from fairlead.schedules s
    where s.tenant = %(tenant)s and s.name = %(name)s and s.problem is distinct from %(problem)s
      and exists (select from lead)
    for no key update skip locked
)
update fairlead.schedules s set problem = %(problem)s
from free f where s.tenant = f.tenant and s.name = f.name
