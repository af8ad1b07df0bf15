-- assign_pool: give a pool to a release, or to whichever comes first; answers the former owner.
-- locks: the pool's row.
-- index: pool_owners_pkey, inside the function.
select fairlead._assign_pool(%(pool)s, %(release)s) as former
