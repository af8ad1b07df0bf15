-- redrive_since: the instant from which failed jobs are to be retried.
-- locks: none.
-- index: none; it reads no table.
select coalesce(now() - %(within)s::interval, '-infinity')::text as since
