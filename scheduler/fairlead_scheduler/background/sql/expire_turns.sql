-- expire_turns: end pending jobs that expired, of one lane after another: of %(lanes)s lanes behind one, at most
--               %(lane_jobs)s each and %(limit)s in all. Returns how many, how many lanes had any, and the
--               lane to go on behind, null at the end.
-- locks: see fairlead._expire_turns.
-- index: see fairlead._expire_turns.
select t.ended, t.lanes, t.next_queue, t.next_tenant
from fairlead._expire_turns(
    %(epoch)s, %(after_queue)s, %(after_tenant)s, %(lanes)s, %(lane_jobs)s, %(limit)s) t
