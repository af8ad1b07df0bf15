-- mark_drain: let these pods take no more jobs until %(drain_until)s, and notify the workers of newly marked
--       ones; return the marked pods and which of them are empty (a mark that had lapsed begins anew). A mark that
--       another session has locked stays as it is, and its pod is not empty. Of none marked: a row of nulls; under
--       another epoch nothing is written, and there is no row.
-- locks: the leader's row for share, then the marks by UID (skip locked): a worker's login may hold any.
-- index: leaders_pkey, pod_drains_pkey
with leader as (
    select %(epoch)s::bigint as epoch where fairlead._autoscaler_leads(%(epoch)s)
), free as materialized (
    select d.pod_uid from fairlead.pod_drains d
    where d.pod_uid = any(%(pods)s::text[]) order by d.pod_uid
    for no key update skip locked
), marked as (
    insert into fairlead.pod_drains as m (pod_uid, pool, drain_until, epoch)
    select g.pod_uid, %(pool)s, %(drain_until)s, l.epoch
    from leader l cross join unnest(%(pods)s::text[]) g (pod_uid)
    where g.pod_uid in (select f.pod_uid from free f)
       or not exists (select from fairlead.pod_drains d where d.pod_uid = g.pod_uid)
    order by g.pod_uid
    on conflict (pod_uid) do update
    set drain_until = excluded.drain_until, epoch = excluded.epoch, pool = excluded.pool
    returning m.pod_uid, m.drained_at
)
select m.pod_uid, m.drained_at is not null as drained,
       case when m.pod_uid = any(%(fresh)s::text[]) then fairlead._notify('fairlead_cancel', m.pod_uid) end
from leader l left join marked m on true
