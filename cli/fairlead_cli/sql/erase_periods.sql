-- erase_periods: forget the dedup keys of a tenant whose periods of unique_for go on; answers how many.
-- locks: the rows that it deletes.
-- index: none; unique_periods is read whole.
select fairlead._erase_periods(%(tenant)s) as erased
