-- end_pauses: end pauses that were to last until an instant that has come; answers how many.
-- locks: the leader's row (for key share), paused rows (skip locked).
-- index: paused_until, leaders_pkey, inside the function.
select fairlead._end_pauses(%(epoch)s, %(limit)s) as ended
