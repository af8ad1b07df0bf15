-- unschedule: the demo's schedules end, so that its work does.
-- locks: the schedules.
-- index: schedules_pkey
delete from fairlead.schedules where kind = 'roll_up'
