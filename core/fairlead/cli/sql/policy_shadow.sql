-- policy_shadow: what the last simulation of each pool's shadow policy said.
-- locks: none
-- index: none; there is a row for each pool.
select s.pool, s.at, s.report, s.said, now() as now from fairlead.policy_shadow s order by s.pool
