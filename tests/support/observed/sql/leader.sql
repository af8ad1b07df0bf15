-- leader: which process holds the schedulers' lease; no row while none does.
-- locks: none
-- index: leaders_pkey
select l.holder from fairlead.leaders l where l.role = 'scheduler' and l.lease_until > now()
