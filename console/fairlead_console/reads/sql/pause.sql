-- pause: stop new dispatch of a queue, or of one tenant in it, for so long, or until it is resumed.
-- locks: none of others' rows.
-- index: paused_once, inside the function.
select fairlead.pause(%(queue)s::text, %(tenant)s::text, clock_timestamp() + %(lasts)s::interval) as answer
