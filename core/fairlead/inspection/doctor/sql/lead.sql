-- lead: until when the schedulers' lead is held, who holds it or did last, and what keeps any program from
--       acquiring it, or the autoscaler's.
-- locks: none
-- index: leaders_pkey
select coalesce(l.holder, '') as holder, coalesce(l.lease_until > now(), false) as held,
       case when isfinite(l.lease_until) then clock_timestamp() - l.lease_until end as lapsed,
       array(select format('the %s''s: %s', r.role, r.fault)
             from (select x.role, fairlead._leader_fault(x.role) as fault
                   from unnest(array['scheduler', 'autoscaler']) x (role)) r
             where r.fault is not null) as faults
from (values ('')) x left join fairlead.leaders l on l.role = 'scheduler'
