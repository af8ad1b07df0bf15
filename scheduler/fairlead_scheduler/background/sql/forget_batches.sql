-- forget_batches: delete batches that were over longer ago than any history is kept, oldest first; answers how many rows.
-- locks: the leader's row (for key share), batches (skip locked).
-- index: batches_age, leaders_pkey, inside the function.
select fairlead._forget_batches(%(epoch)s::bigint, %(days)s::integer, %(limit)s::integer)
