-- crash_breakers: kinds of a tenant that run one at a time on living workers, because several of their jobs have
--                 ended the process that ran them, and on how many; and how many workers say any, and of how many
--                 that was read: of %(workers_max)s at most, of each login as many as of the others, its newest. What
--                 is no pair of texts is left out: a superuser may have stored it, and older migrations any worker.
--                 There is a row in any case, perhaps without a kind.
-- locks: none
-- index: none: there is one row per process. What a row says is read, from elsewhere, of those chosen alone.
with saying as materialized (
    select w.id, row_number() over (partition by w.login order by w.id desc) as place
    from fairlead.worker_leases w
    where w.crash_breakers is not null and w.dead_at is null and w.lease_until > clock_timestamp()
), chosen as materialized (
    select s.id from saying s order by s.place, s.id desc limit %(workers_max)s
), sources as materialized (
    select b.source, count(*) as workers
    from chosen c join fairlead.worker_leases w on w.id = c.id cross join lateral jsonb_array_elements(
        case when jsonb_typeof(w.crash_breakers) = 'array' then w.crash_breakers end) b (source)
    where jsonb_typeof(b.source -> 0) = 'string' and jsonb_typeof(b.source -> 1) = 'string'
    group by b.source
)
select f.source ->> 0 as kind, f.source ->> 1 as tenant, f.workers,
       (select count(*) from saying) as saying, (select count(*) from chosen) as read
from (values (1)) as always left join (
    select s.source, s.workers from sources s
    where fairlead._sees_all() or fairlead._sees(s.source ->> 1)
    order by s.workers desc, s.source limit 1000) f on true
order by f.workers desc, f.source
