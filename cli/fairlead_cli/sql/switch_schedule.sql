-- switch_schedule: let a schedule fire, or keep it from firing.
-- locks: the schedule's row.
-- index: schedules_pkey
update fairlead.schedules s set enabled = %(enabled)s
where s.tenant = %(tenant)s and s.name = %(name)s
returning s.name
