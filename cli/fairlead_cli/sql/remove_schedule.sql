-- remove_schedule: take a schedule out; jobs that it made stay.
-- locks: the schedule's row.
-- index: schedules_pkey
delete from fairlead.schedules s where s.tenant = %(tenant)s and s.name = %(name)s
returning s.name
