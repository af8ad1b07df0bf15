-- recall: take unclaimed rows out of work_queue; returns those that it took.
-- locks: see fairlead._recall.
-- index: see fairlead._recall.
select r from fairlead._recall(%(epoch)s, %(ids)s::bigint[]) r
