-- drop_partitions: do the next step with a partition of history that is past its retention: empty it, or drop
--                  it. Returns the partition and the step, and those that are locked for now. Exempt from the
--                  epoch: twice is the same as once.
-- locks: schema_versions is left alone; see fairlead.drop_history_partitions, which waits 50 ms for a lock.
-- index: none; the system's catalogs.
select d.partition, d.step
from fairlead.drop_history_partitions(%(succeeded_days)s, %(unsuccessful_days)s) d
