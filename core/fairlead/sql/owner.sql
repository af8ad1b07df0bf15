-- owner: the release that owns the database, or nothing.
-- locks: none.
-- index: none: leaders has two rows.
select max(l.release) from fairlead.leaders l
