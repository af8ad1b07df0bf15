-- hurry: have the statements of this transaction end within so many milliseconds.
-- locks: none.
-- index: none: a setting of the session.
select set_config('statement_timeout', (%(milliseconds)s::integer)::text, true)
