-- lower_floor: lower the floor of one pool and band below which rows have come back, in one statement that
--              does nothing under another leader's epoch. It never raises it: that is for dispatch alone.
-- locks: the leader's row (for key share), then the claim_floors row.
-- index: leaders_pkey, claim_floors_pkey
with lead as materialized (
    select %(epoch)s::bigint as epoch where fairlead._leads(%(epoch)s)
)
update fairlead.claim_floors f set vtag = %(floor)s
where f.pool = %(pool)s and f.band = %(band)s and f.vtag > %(floor)s and exists (select from lead)
