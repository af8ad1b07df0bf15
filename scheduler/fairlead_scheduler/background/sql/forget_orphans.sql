-- forget_orphans: end what is left in work_queue of jobs that somebody has deleted by hand, in so many pages
--                 from %(page)s on. Unclaimed rows are deleted. A running attempt's deadline is now: its worker
--                 hears of it with its next renewal, and the steal takes the row of one that does not act on
--                 it. What a handler has completed keeps its deadline. Answers the page that comes next, and
--                 nothing at the end of the table.
-- locks: the leader's row (for key share), work_queue rows (skip locked).
-- index: none of work_queue, as in steal.sql; jobs_pkey, leaders_pkey
with lead as materialized (
    select %(epoch)s::bigint as epoch where fairlead._leads(%(epoch)s)
), stretch as materialized (
    select format('(%%s,0)', s.page)::tid as first, format('(%%s,0)', s.until)::tid as beyond, s.until
    from (select %(page)s::bigint as page, %(page)s::bigint + %(pages)s as until) s
), found as materialized (
    select o.ctid as place, o.worker is null as unclaimed
    from fairlead.work_queue o
    where o.ctid >= (select s.first from stretch s) and o.ctid < (select s.beyond from stretch s)
      and (o.worker is null or not o.completed and o.deadline > now()) and exists (select from lead)
      and not exists (select from fairlead.jobs j where j.id = o.job_id offset 0)
    for update skip locked
), gone as (
    delete from fairlead.work_queue q
    where q.ctid = any (array(select f.place from found f where f.unclaimed))
    returning q.job_id
), receipt as (
    insert into fairlead.receipts (ended, run_us)
    select array_agg(g.job_id), array_fill(0::bigint, array[count(*)::integer])
    from gone g having count(*) > 0
), overdue as (
    update fairlead.work_queue q set deadline = now()
    where q.ctid = any (array(select f.place from found f where not f.unclaimed))
)
select s.until from stretch s
where s.until < pg_relation_size('fairlead.work_queue') / current_setting('block_size')::bigint
