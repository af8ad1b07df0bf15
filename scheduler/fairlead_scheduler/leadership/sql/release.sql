-- release: release the lease and notify the standbys; does nothing under another epoch.
-- locks: the leader's row.
-- index: leaders_pkey
with released as (
    update fairlead.leaders l set lease_until = '-infinity'
    where l.role = 'scheduler' and l.epoch = %(epoch)s
    returning l.epoch
)
select pg_notify('fairlead_leader', r.epoch::text) from released r
