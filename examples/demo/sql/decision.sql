-- decision: how many workers were decided on last, and why.
-- locks: none
-- index: pool_decisions_pkey
select (d.decision->'pods'->>'requested')::int, d.decision->>'reason', d.decision->>'message'
from fairlead.pool_decisions d where d.pool = 'default'
