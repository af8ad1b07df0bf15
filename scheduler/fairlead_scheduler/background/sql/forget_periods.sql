-- forget_periods: delete dedup keys whose period of unique_for is over, oldest first; answers how many.
-- locks: the leader's row (for key share), unique_periods rows (skip locked): an enqueue may begin one anew.
-- index: unique_periods_until, leaders_pkey, inside the function.
select fairlead._forget_periods(%(epoch)s, %(limit)s)
