-- wake: notify these workers, or all of them when the list is empty, that there is work.
-- locks: none.
-- index: none.
select pg_notify('fairlead_work', %(workers)s)
