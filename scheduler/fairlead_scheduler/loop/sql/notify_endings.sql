-- notify_endings: have every ending notify the leader, or none any more; does nothing under another leader's
--                 epoch.
-- locks: the leader's row (for key share).
-- index: leaders_pkey
with lead as materialized (
    select %(epoch)s::bigint as epoch where fairlead._leads(%(epoch)s)
)
select setval('fairlead.endings_notify', 1, %(wanted)s) from lead
