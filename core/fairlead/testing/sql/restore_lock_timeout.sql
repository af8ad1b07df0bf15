-- restore_lock_timeout: restore the lock_timeout of a transaction, which finishing a job has changed.
-- locks: none.
-- index: none; it reads no table.
select set_config('lock_timeout', %(lock_timeout)s, true)
