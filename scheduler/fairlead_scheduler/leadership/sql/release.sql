-- release: release the lease and notify the standbys; does nothing under another epoch.
-- locks: the leader's row.
-- index: leaders_pkey
select fairlead._release_leadership(%(epoch)s)
