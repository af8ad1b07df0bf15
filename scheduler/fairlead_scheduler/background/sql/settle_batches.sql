-- settle_batches: count of batches behind an id the jobs that have ended, at most %(limit)s and in the order in which they
--                 joined, and insert the completion's job of each batch that is over, once whichever leader does it. A
--                 batch that somebody adds jobs to is passed over. Returns how many were over, of how many that job could
--                 not be inserted, whether one has more to count, and the id to go on behind, null at the end.
-- locks: see fairlead._settle_batches: the leader's row (for key share), batches (skip locked).
-- index: see fairlead._settle_batches.
select s.completed, s.refused, s.more, s.reached_id
from fairlead._settle_batches(
    %(epoch)s::bigint, %(after_id)s::bigint, %(batches)s::integer, %(limit)s::integer, %(days)s::integer) s
