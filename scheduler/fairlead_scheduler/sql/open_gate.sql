-- open_gate: let every INSERT pass without a look at over_backlog, which is empty; not while it has rows.
-- locks: the leader's row (for share).
-- index: leaders_pkey; of over_backlog one row is looked for, until it is found.
with lead as materialized (
    select l.epoch from fairlead.leaders l
    where l.role = 'scheduler' and l.epoch = %(epoch)s for share
)
select setval('fairlead.backlog_gate', 1, false) from lead l
where not exists (select from fairlead.over_backlog o)
