-- take_over: make a release the owner of the database and of the former owner's pools; answers the former one.
-- locks: the leaders' rows, the rows of these pools.
-- index: none: leaders has two rows, and pool_owners one for each pool.
select fairlead._take_over(%(release)s)
