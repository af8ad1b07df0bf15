-- leader: who leads, and under which epoch.
-- locks: none
-- index: leaders_pkey
select l.holder, l.epoch from fairlead.leaders l where l.role = 'scheduler' and l.lease_until > now()
