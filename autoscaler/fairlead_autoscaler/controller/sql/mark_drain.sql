-- mark_drain: let these pods take no more jobs until %(drain_until)s, and notify the workers of newly marked
--       ones; return the marked pods and which of them are empty (a mark that had lapsed begins anew);
--       write nothing under another epoch.
-- locks: the leader's row for share, then the marks by UID.
-- index: leaders_pkey, pod_drains_pkey
with leader as (
    select %(epoch)s::bigint as epoch where fairlead._autoscaler_leads(%(epoch)s)
), marked as (
    insert into fairlead.pod_drains as m (pod_uid, pool, drain_until, epoch)
    select g.pod_uid, %(pool)s, %(drain_until)s, l.epoch
    from leader l cross join unnest(%(pods)s::text[]) g (pod_uid)
    order by g.pod_uid
    on conflict (pod_uid) do update
    set drain_until = excluded.drain_until, epoch = excluded.epoch, pool = excluded.pool
    returning m.pod_uid, m.drained_at
)
select m.pod_uid, m.drained_at is not null as drained,
       case when m.pod_uid = any(%(fresh)s::text[]) then pg_notify('fairlead_cancel', m.pod_uid) end
from marked m
