-- forget_progress: delete the progress of attempts that are over, in so many pages of job_progress from
--                  %(page)s on. Answers the page that comes next, and nothing at the end of the table.
-- locks: the leader's row (for key share), job_progress rows (skip locked).
-- index: none of job_progress, as in steal.sql; work_queue_pkey, leaders_pkey
with lead as materialized (
    select %(epoch)s::bigint as epoch where fairlead._leads(%(epoch)s)
), stretch as materialized (
    select format('(%%s,0)', s.page)::tid as first, format('(%%s,0)', s.until)::tid as beyond, s.until
    from (select %(page)s::bigint as page, %(page)s::bigint + %(pages)s as until) s
), gone as (
    delete from fairlead.job_progress p
    where p.ctid = any (array(
        select o.ctid from fairlead.job_progress o
        where o.ctid >= (select s.first from stretch s) and o.ctid < (select s.beyond from stretch s)
          and exists (select from lead)
          and not exists (
              select from fairlead.work_queue q where q.job_id = o.job_id and q.token = o.token
              offset 0)
        for update skip locked))
)
select s.until from stretch s
where s.until < pg_relation_size('fairlead.job_progress') / current_setting('block_size')::bigint
