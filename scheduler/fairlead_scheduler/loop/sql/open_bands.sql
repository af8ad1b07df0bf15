-- open_bands: make workers claim from each band of the pool, before the first dispatch into it; does nothing
--             under another leader's epoch.
-- locks: the leader's row (for key share), new rows of floor_scans and of claim_floors by band. ON CONFLICT alone
--        would wait for whoever has locked a row that is there, and a worker's login may lock one of floor_scans.
-- index: leaders_pkey, claim_floors_pkey, floor_scans_pkey
with lead as materialized (
    select %(epoch)s::bigint as epoch where fairlead._leads(%(epoch)s)
), scanned as (
    insert into fairlead.floor_scans (pool)
    select %(pool)s from lead
    where not exists (select from fairlead.floor_scans s where s.pool = %(pool)s)
    on conflict do nothing
)
insert into fairlead.claim_floors (pool, band, vtag)
select %(pool)s, b.band, 0 from lead, generate_series(0, %(bands)s - 1) as b (band)
where not exists (select from fairlead.claim_floors f where f.pool = %(pool)s and f.band = b.band)
on conflict do nothing
