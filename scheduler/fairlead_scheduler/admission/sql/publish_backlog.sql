-- publish_backlog: refuse new jobs of full lanes and reopen others. Returns the rows of the full ones. The
--                  gate has their bits before the rows are visible, and only the leader sets them.
-- locks: the leader's row (for key share), over_backlog, which only the leader writes.
-- index: leaders_pkey, over_backlog_pkey, over_backlog_once
with lead as materialized (
    select %(epoch)s::bigint as epoch where fairlead._leads(%(epoch)s)
), reopened as (
    delete from fairlead.over_backlog o
    where o.id = any (%(reopened)s::bigint[]) and exists (select from lead)
), gate as materialized (
    select setval('fairlead.backlog_gate',
                  coalesce(pg_sequence_last_value('fairlead.backlog_gate'), 0) | b.bits)
    from lead l cross join lateral (
        select bit_or(fairlead._backlog_bit(concat_ws('/', s.queue, s.tenant))) as bits
        from jsonb_to_recordset(%(full)s::jsonb) s (queue text, tenant text)) b
    where b.bits is not null
)
insert into fairlead.over_backlog as o (queue, tenant, backlog_limit, reopens_at)
select s.queue, s.tenant, s.backlog_limit, s.reopens_at
from jsonb_to_recordset(%(full)s::jsonb)
     s (queue text, tenant text, backlog_limit integer, reopens_at integer)
where exists (select from gate)
on conflict (queue, tenant) do update
set backlog_limit = excluded.backlog_limit, reopens_at = excluded.reopens_at
returning id, queue, tenant, backlog_limit
