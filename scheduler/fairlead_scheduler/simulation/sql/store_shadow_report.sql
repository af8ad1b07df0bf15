-- store_shadow_report: store the result of the last shadow simulation; nothing under another leader.
-- locks: the leader's row (for key share), then the pool's row.
-- index: leaders_pkey, policy_shadow_pkey
with lead as materialized (
    select %(epoch)s::bigint as epoch where fairlead._leads(%(epoch)s)
)
insert into fairlead.policy_shadow as s (pool, report, said)
select %(pool)s, %(report)s::jsonb, %(said)s from lead l
on conflict (pool) do update
set at = clock_timestamp(), report = excluded.report, said = excluded.said
