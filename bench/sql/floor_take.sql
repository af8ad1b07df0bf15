-- floor_take: the one-hop floor's claim, which deletes what it returns.
-- locks: floor_bare in order of id (skip locked).
-- index: floor_bare_pkey
with picked as materialized (
    select id from floor_bare order by id limit %(limit)s for update skip locked
)
delete from floor_bare where id = any (array(select id from picked)) returning payload
