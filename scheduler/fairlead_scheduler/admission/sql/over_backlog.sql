-- over_backlog: which lanes accept no jobs, as the former leader left it.
-- locks: none.
-- index: over_backlog is read whole, once a term: it has a row for each lane that is over its limit.
select o.id, o.queue, o.tenant, o.backlog_limit from fairlead.over_backlog o
