-- limit_statement_time: limit the statements of this transaction to so many milliseconds each.
-- locks: none.
-- index: none: a setting of the session.
select set_config('statement_timeout', (%(milliseconds)s::integer)::text, true)
