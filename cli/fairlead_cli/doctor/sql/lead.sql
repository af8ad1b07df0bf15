-- lead: until when the schedulers' lead is held, and who holds it or did last.
-- locks: none
-- index: leaders_pkey
select l.holder, l.lease_until > now() as held,
       case when isfinite(l.lease_until) then clock_timestamp() - l.lease_until end as lapsed
from fairlead.leaders l where l.role = 'scheduler'
