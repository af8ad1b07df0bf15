-- make_partitions: make history's partitions for the days ahead; answers how many it made. Exempt from
--                  the epoch: twice is the same as once.
-- locks: see fairlead.make_history_partitions; run it with a short lock_timeout.
-- index: none.
select fairlead.make_history_partitions(%(days_ahead)s)
