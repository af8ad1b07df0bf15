-- forget_orphans: delete unclaimed rows of work_queue whose job is gone, in so many pages from %(page)s
--                 on. Answers the page that comes next, and nothing at the end of the table.
-- locks: the leader's row (for share), work_queue rows (skip locked).
-- index: none of work_queue, as in steal.sql; jobs_pkey, leaders_pkey
with lead as materialized (
    select %(epoch)s::bigint as epoch where fairlead._leads(%(epoch)s)
), stretch as materialized (
    select format('(%%s,0)', s.page)::tid as first, format('(%%s,0)', s.until)::tid as beyond, s.until
    from (select %(page)s::bigint as page, %(page)s::bigint + %(pages)s as until) s
), gone as (
    delete from fairlead.work_queue q
    where q.ctid = any (array(
        select o.ctid from fairlead.work_queue o
        where o.ctid >= (select s.first from stretch s) and o.ctid < (select s.beyond from stretch s)
          and o.worker is null and exists (select from lead)
          and not exists (select from fairlead.jobs j where j.id = o.job_id offset 0)
        for update skip locked))
)
select s.until from stretch s
where s.until < pg_relation_size('fairlead.work_queue') / current_setting('block_size')::bigint
