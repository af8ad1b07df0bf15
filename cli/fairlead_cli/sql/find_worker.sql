-- find_worker: the workers of one name that live, or the one of an id.
-- locks: none
-- index: none: there is one row per process.
select w.id, w.name, w.state from fairlead.workers w
where w.id = %(id)s::bigint or w.name = %(name)s and w.dead_at is null
order by w.id
