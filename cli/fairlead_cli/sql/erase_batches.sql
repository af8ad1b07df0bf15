-- erase_batches: delete up to %(limit)s batches of a tenant behind an id, which then complete no more; answers how many,
--                and the id to go on behind, null at the end.
-- locks: the rows that it deletes.
-- index: batches_tenant, inside the function.
select r.batches, r.reached_id as after_id
from fairlead._erase_batches(%(tenant)s::text, %(after_id)s::bigint, %(limit)s::integer) r
