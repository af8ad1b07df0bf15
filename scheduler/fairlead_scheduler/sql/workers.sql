-- workers: the live workers, the slots that new jobs may come to, their pools, and how many jobs they hold
--          without a slot. The slots of a marked pod count as none, whether its worker knows of the mark
--          yet or not.
-- locks: none.
-- index: worker_leases_live, pod_drains_pkey
select w.id,
       case when w.draining or exists (
           select from fairlead.pod_drains d
           where d.pod_uid = w.pod_uid and d.drain_until > now()) then 0 else w.slots end as slots,
       w.pool, w.beside
from fairlead.worker_leases w
where w.dead_at is null and w.lease_until > now() and w.name > ''
order by w.name
