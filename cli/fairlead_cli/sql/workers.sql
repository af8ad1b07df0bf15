-- workers: worker processes, the living ones first, then the dead ones of the last hour.
-- locks: none
-- index: none: there is one row per process.
select w.*, clock_timestamp() as now from fairlead.workers w
where %(all)s or w.dead_at is null or w.dead_at > now() - interval '1 hour'
order by w.dead_at is not null, w.pool, w.name, w.id limit 1000
