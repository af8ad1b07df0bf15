-- run_schedule: insert a schedule's job now; answers its id, null when there is no such schedule.
-- locks: none that lasts.
-- index: schedules_pkey, inside the function.
select fairlead.run_schedule(%(tenant)s::text, %(name)s::text) as answer
