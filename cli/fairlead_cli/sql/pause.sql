-- pause: stop new dispatch of a queue or of one tenant in it.
-- locks: none of others' rows.
-- index: paused_once, inside the function.
select fairlead.pause(%(queue)s::text, %(tenant)s::text)
