-- pool_decisions: what the autoscaler decided last for each pool, or for one.
-- locks: none
-- index: none; there is a row for each pool.
select d.pool, d.at, d.decision, now() as now
from fairlead.pool_decisions d
where %(pool)s::text is null or d.pool = %(pool)s
order by d.pool
