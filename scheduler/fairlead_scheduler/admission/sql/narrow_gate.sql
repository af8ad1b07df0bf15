-- narrow_gate: reset the gate to the bits of the rows that over_backlog has, or to no value without any.
-- locks: the leader's row (for key share).
-- index: leaders_pkey; over_backlog is read whole: it has a row for each lane that is refused.
with lead as materialized (
    select %(epoch)s::bigint as epoch where fairlead._leads(%(epoch)s)
)
select setval('fairlead.backlog_gate', coalesce(b.bits, 1), b.bits is not null)
from lead l cross join lateral (
    select bit_or(fairlead._backlog_bit(concat_ws('/', o.queue, o.tenant))) as bits
    from fairlead.over_backlog o) b
