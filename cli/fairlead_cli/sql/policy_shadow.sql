-- policy_shadow: the result of the last simulation of each pool's shadow policy.
-- locks: none
-- index: none; there is a row for each pool.
select s.pool, s.at, s.report, s.said as reason, now() as now from fairlead.policy_shadow s order by s.pool
