-- testing_patience: give a transaction that goes on its own lock_timeout back, which an ending has set.
-- locks: none.
-- index: none; it reads no table.
select set_config('lock_timeout', %(lock_timeout)s, true)
