-- unschedule: the demo's schedules end, so that its work does.
-- locks: the schedules.
-- index: schedules_pkey
select fairlead.remove_schedules(s.tenant, s.name) from fairlead.schedules s where s.kind = 'roll_up'
