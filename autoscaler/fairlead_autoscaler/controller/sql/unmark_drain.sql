-- unmark_drain: let these pods take jobs again, and notify their workers; nothing under another epoch.
-- locks: the leader's row for share, then the marks (skip locked).
-- index: leaders_pkey, pod_drains_pkey
select fairlead._unmark_drains(%(epoch)s, %(pods)s::text[])
