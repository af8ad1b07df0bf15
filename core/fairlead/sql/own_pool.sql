-- own_pool: make a release the owner of a pool if it has none; answers the owner; empty: none may be made,
--           null: another session is about to be.
-- locks: none of others' rows.
-- index: pool_owners_pkey, inside the function.
select fairlead._own_pool(%(pool)s, %(release)s)
