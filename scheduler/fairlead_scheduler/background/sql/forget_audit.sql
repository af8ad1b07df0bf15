-- forget_audit: delete entries of the audit log that are past their retention, oldest first; answers how many.
--               No role may delete them itself: the function keeps those of 30 days whatever it is asked.
-- locks: the leader's row (for key share), audit rows (skip locked).
-- index: audit_pkey, leaders_pkey, inside the function.
select fairlead._forget_audit(%(epoch)s, %(days)s, %(limit)s)
