-- leader: which process holds the schedulers' lead; no row while nobody does.
-- locks: none
-- index: leaders_pkey
select l.holder from fairlead.leaders l where l.role = 'scheduler' and l.lease_until > now()
