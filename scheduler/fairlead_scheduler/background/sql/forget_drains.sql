-- forget_drains: delete drain marks of pods that lapsed an hour ago and were not renewed since.
-- locks: the leader's row (for share), pod_drains rows (skip locked): a login may hold one for ever.
-- index: leaders_pkey; pod_drains is read whole: it has a row for each pod that went lately.
with lead as materialized (
    select %(epoch)s::bigint as epoch where fairlead._leads(%(epoch)s)
)
delete from fairlead.pod_drains d
where d.pod_uid in (
    select f.pod_uid from fairlead.pod_drains f
    where f.drain_until < now() - interval '1 hour' and exists (select from lead)
    for update skip locked)
