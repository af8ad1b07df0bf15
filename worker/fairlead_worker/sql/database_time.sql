-- database_time: what time it is where claims are stamped.
-- locks: nothing.
-- index: none; it reads no table.
select now()
