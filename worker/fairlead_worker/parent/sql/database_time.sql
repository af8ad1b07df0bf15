-- database_time: the time of the clock that stamps claims.
-- locks: nothing.
-- index: none; it reads no table.
select now()
