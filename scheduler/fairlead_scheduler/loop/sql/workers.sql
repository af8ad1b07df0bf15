-- workers: the live workers: their pools, the slots that may take new jobs, how many jobs they hold
--          without a slot, and whether they count how their attempts end, as those with a version do, which are
--          Fairlead's own. The slots of a pod with a drain mark count as none, whether its worker has seen
--          the mark or not.
-- locks: none.
-- index: worker_leases_live, pod_drains_pkey
select w.id,
       case when w.draining or exists (
           select from fairlead.pod_drains d
           where d.pod_uid = w.pod_uid and d.drain_until > now()) then 0 else w.slots end as slots,
       w.pool, w.beside, w.version > '' as counts
from fairlead.worker_leases w
where w.dead_at is null and w.lease_until > now() and w.name > ''
order by w.name
