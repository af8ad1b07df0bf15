-- make_partitions: make history's partitions up to so many days ahead, and of days whose endings are in a
--                  default one; answers how many it made. Exempt from the epoch: twice is the same as once.
-- locks: see fairlead.make_history_partitions, which waits 50 ms for each lock and warns of what it left.
-- index: none.
select fairlead.make_history_partitions(%(days_ahead)s)
