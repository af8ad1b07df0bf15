-- pass_over: tell the leader which queued rows a claim has just passed over, because the worker has no room for
--            their kinds: at most %(limit)s. A repeat tells it again, which changes nothing.
-- locks: none.
-- index: claim_floors_pkey, work_queue_claim_order, jobs_pkey, inside the function.
select fairlead._pass_over(%(worker)s, %(full_kinds)s::text[], %(limit)s)
