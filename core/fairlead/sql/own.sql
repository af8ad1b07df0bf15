-- own: make a release the owner of the database if it has none; answers the owner, or nothing.
-- locks: the leaders' rows, if there is no owner.
-- index: none: leaders has two rows.
select fairlead._own_database(%(release)s)
