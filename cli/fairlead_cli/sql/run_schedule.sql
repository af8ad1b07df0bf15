-- run_schedule: insert a schedule's job now; answers its id. Its fires stay as they are.
-- locks: none that lasts.
-- index: schedules_pkey, inside the function.
select fairlead.run_schedule(%(tenant)s::text, %(name)s::text) as job
