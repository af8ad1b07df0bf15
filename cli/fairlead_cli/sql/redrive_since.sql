-- redrive_since: the place behind which failed jobs are to be retried.
-- locks: none.
-- index: none; it reads no table.
select coalesce(now() - %(within)s::interval, '-infinity')::text as after_at, 0 as after_id
