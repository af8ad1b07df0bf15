-- record_problem: record why a schedule cannot be fired.
-- locks: the leader's row (for share), the schedule.
-- index: leaders_pkey, schedules_pkey
with lead as materialized (
    select %(epoch)s::bigint as epoch where fairlead._leads(%(epoch)s)
)
update fairlead.schedules s set problem = %(problem)s
where s.tenant = %(tenant)s and s.name = %(name)s and s.problem is distinct from %(problem)s
  and exists (select from lead)
