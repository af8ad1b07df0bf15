-- delete_shadow_reports: delete the reports of another shadow policy; nothing under another leader.
-- locks: the leader's row (for key share), then the rows of all pools.
-- index: leaders_pkey, policy_shadow_pkey
with lead as materialized (
    select %(epoch)s::bigint as epoch where fairlead._leads(%(epoch)s)
)
delete from fairlead.policy_shadow s using lead where s.pool > ''
