-- resume: end a pause; answers whether there was one.
-- locks: the pause's row.
-- index: paused_once, inside the function.
select fairlead.resume(%(queue)s::text, %(tenant)s::text) as answer
