-- remove_schedule: take a schedule out; jobs that it made stay.
-- locks: the schedule's row.
-- index: schedules_pkey
select r.removed from fairlead.remove_schedules(%(tenant)s, %(name)s) as r (removed) where r.removed > 0
