-- pause: stop new dispatch of a queue.
-- locks: none of others' rows.
-- index: paused_once, inside the function.
select fairlead.pause(%(queue)s::text) as answer
