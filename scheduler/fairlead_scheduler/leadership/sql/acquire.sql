-- acquire: acquire the lease, if no lease is in force or this process held the last one as this login, and
--          the database belongs to no other release; returns the new epoch, and why where waiting will never
--          help. Waits for statements of the former leader that are under way.
-- locks: the leader's row.
-- index: leaders_pkey
select a.epoch, a.fault
from fairlead._acquire_leadership(%(holder)s, %(lease_seconds)s, %(release)s) a
