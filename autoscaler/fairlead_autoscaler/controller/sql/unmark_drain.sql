-- unmark_drain: let these pods take jobs again, and notify their workers; nothing under another epoch.
-- locks: the leader's row for share, then the marks.
-- index: leaders_pkey, pod_drains_pkey
with leader as (
    select %(epoch)s::bigint as epoch where fairlead._autoscaler_leads(%(epoch)s)
), unmarked as (
    delete from fairlead.pod_drains m
    using leader l
    where m.pod_uid = any(%(pods)s::text[])
    returning m.pod_uid
)
select u.pod_uid, pg_notify('fairlead_cancel', u.pod_uid) from unmarked u
