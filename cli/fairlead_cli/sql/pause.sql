-- pause: stop new dispatch of a queue or of one tenant in it, until an instant, for so long, or until it is resumed;
--        answers when it ends.
-- locks: none of others' rows.
-- index: paused_once, inside the function.
select u.until, fairlead.pause(%(queue)s::text, %(tenant)s::text, u.until)
from (
    select coalesce(%(until)s::timestamptz, case when %(lasts)s::interval is not null
                    then clock_timestamp() + least(%(lasts)s::interval, interval '1000 years') end) as until offset 0) u
