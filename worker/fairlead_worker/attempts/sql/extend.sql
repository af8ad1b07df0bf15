-- extend: move deadlines of attempts to at least so many seconds from now. Returns each token with why its
--         attempt is to stop: lost, it no longer holds its job; cancelled, on request; expired, if it has
--         not begun; null, it goes on. A row that its handler's own transaction has locked keeps its
--         deadline: that handler is about to end.
-- locks: work_queue rows by job id (skip locked).
-- index: work_queue_pkey, jobs_pkey, inside the function.
select e.token, e.stop
from fairlead.extend_deadlines(
    %(ids)s::bigint[], %(tokens)s::bigint[], %(seconds)s::float8[]) e
