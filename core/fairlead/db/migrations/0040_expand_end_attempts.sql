-- Ending attempts compares them as pairs too, as 0037_expand_pairs.sql does.

-- Deletes the work_queue rows of attempts whose jobs are gone: completed by their handlers, or deleted by
-- hand. Answers those attempts; one that is missing holds nothing, still has a job, or is locked: a
-- transaction that is still open, such as its handler's, decides what it is.
create function fairlead._release(ids bigint[], tokens bigint[], run_us bigint[] default null)
returns table (job_id bigint, token bigint)
language sql security definer set search_path = pg_catalog, pg_temp set enable_seqscan = off set jit = off
begin atomic
    with asked as materialized (
        select a.job_id, a.token, a.run_us
        from unnest(ids, tokens, _release.run_us) as a (job_id, token, run_us)
    ), released as (
        delete from fairlead.work_queue q
        where q.ctid = any (array(
            select w.ctid from fairlead.work_queue w
            where w.job_id = any (ids)
              and ((w.job_id, w.token) in (select a.job_id, a.token from asked a)) is true
              and not exists (select from fairlead.jobs j where j.id = w.job_id offset 0)
            order by w.job_id for update skip locked))
        returning q.job_id, q.token, q.claimed_at
    ), receipt as (
        insert into fairlead.receipts (ended, run_us)
        select array_agg(r.job_id), array_agg(fairlead._charged_us(a.run_us, r.claimed_at))
        from released r join asked a on a.job_id = r.job_id and a.token = r.token
        having count(*) > 0
    )
    select r.job_id, r.token from released r;
end;

-- Frees the slots of attempts whose jobs are gone: completed by their handlers, or deleted. Answers the tokens
-- that it released; the others hold nothing, still have a job, or are locked. A repeat releases nothing.
create function fairlead.release(ids bigint[], tokens bigint[], run_us bigint[] default null)
returns setof bigint language plpgsql security definer set search_path = pg_catalog, pg_temp set enable_seqscan = off
set enable_bitmapscan = off set enable_mergejoin = off set enable_sort = off
set plan_cache_mode = force_generic_plan set jit = off as $$
declare
    own constant bigint[] := fairlead._own(ids, tokens);
begin
    return query
    select r.token from fairlead._release(ids, own, release.run_us) r;
end $$;
