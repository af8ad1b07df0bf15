-- bind_pools: let a worker's login serve these pools, and those that it is bound to already. A repeat changes nothing.
-- locks: what it inserts.
-- index: pool_logins_pkey
insert into fairlead.pool_logins (login, pool)
select %(login)s, p.pool from unnest(%(pools)s::text[]) p (pool)
on conflict do nothing
returning pool
