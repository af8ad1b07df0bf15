-- The bytes of a claim are those of the text that it answers.
--
-- They were derived from what a payload takes in its table. A number there may have a thousandth of its digits: 1 kB
-- of [1e-16383, ...] is 1 MiB of text.

-- How many of these jobs, from the first on, one claim may answer: of 16 MiB of payloads and headers in all, or one.
-- Their texts are made one after the other, some dozens ahead, so that few payloads are read that are not answered.
-- A subquery per job, for a join might have another order.
create function fairlead._count_fitting(jobs bigint[]) returns integer
language plpgsql stable set search_path = pg_catalog, pg_temp as $$
declare
    job_bytes bigint;
    bytes_left bigint := 16777216;
    fitting integer := 0;
begin
    for job_bytes in
        select (select octet_length(j.payload::text) + coalesce(octet_length(j.headers::text), 0)
                from fairlead.jobs j where j.id = p.job_id)
        from unnest(jobs) as p (job_id)
    loop
        bytes_left := bytes_left - coalesce(job_bytes, 0);
        exit when bytes_left < 0 and fitting > 0;
        fitting := fitting + 1;
    end loop;
    return fitting;
end $$;

-- Leases up to jobs_max queued jobs of the worker's pool to it, in claim order: of 16 MiB of payloads and headers
-- in all, or one job. Jobs of full_kinds are passed over, for which the worker has no room (null, as nearly
-- always: of none).
-- Locks the worker's live row (for share, so that a death or draining cannot be missed), then work_queue
-- rows in claim order (skip locked).
create or replace function fairlead.claim(
    worker bigint, jobs_max integer, below_floor boolean default false, full_kinds text[] default null
) returns table (
    job_id bigint, token bigint, queue text, tenant text, kind text, payload text, headers text,
    attempt integer, max_attempts integer, timeout_seconds double precision,
    timeout_max_seconds double precision, alone boolean, waited_seconds double precision, doomed text,
    checkpoint text
) language plpgsql security definer set search_path = pg_catalog, pg_temp set enable_seqscan = off
set enable_bitmapscan = off set enable_mergejoin = off set enable_sort = off
set plan_cache_mode = force_generic_plan set jit = off as $$
#variable_conflict use_column
begin
    return query
    with me as materialized (
        select w.id, w.pool from fairlead.worker_leases w
        where w.id = claim.worker and w.dead_at is null and not w.draining
          and (w.login = session_user or fairlead._acts_for(w.login))
          and (not exists (select from fairlead.pool_logins) or fairlead._may_serve(w.pool))
        for share
    ), timeline as materialized (
        select fairlead._timeline_base() as base
    ), picked as materialized (
        select q.place, q.job_id
        from fairlead.claim_floors f cross join lateral (
            select w.ctid as place, w.job_id from fairlead.work_queue w
            where w.pool = (select m.pool from me m) and w.band = f.band and w.band >= 0
              and w.worker is null and w.vtag >= case when claim.below_floor then -1 else f.vtag end
              and (claim.full_kinds is null
                   or coalesce((select j.kind from fairlead.jobs j where j.id = w.job_id), '')
                      <> all (claim.full_kinds))
            order by w.vtag, w.job_id limit claim.jobs_max
            for update skip locked) q
        where f.pool = (select m.pool from me m)
        order by f.band limit claim.jobs_max
    ), fits as materialized (
        select fairlead._count_fitting(array(select p.job_id from picked p)) as jobs
    ), leased as (
        update fairlead.work_queue q
        set worker = claim.worker, token = nextval('fairlead.tokens') + (select t.base from timeline t),
            claimed_at = now(), deadline = fairlead._deadline(q.timeout)
        where q.ctid = any (array(
            select p.place from picked p limit (select f.jobs from fits f)))
        returning q.job_id, q.token, q.queue, q.tenant, q.runnable_at, q.timeout, q.timeout_max, q.alone
    ), receipt as (
        insert into fairlead.receipts (worker, claimed)
        select claim.worker, array_agg(l.job_id) from leased l having count(*) > 0
    )
    select l.job_id, l.token, l.queue, l.tenant, j.kind, j.payload, j.headers, fairlead._one_more(j.attempts),
           j.max_attempts, extract(epoch from l.timeout)::float8,
           extract(epoch from l.timeout_max)::float8, l.alone,
           (fairlead._epoch_us(now()) - fairlead._epoch_us(l.runnable_at)) / 1e6::float8,
           case when j.id is null then 'gone'
                when j.cancel_requested_at is not null then 'cancelled'
                when j.expires_at <= now() then 'expired' end, j.checkpoint
    from leased l
    left join lateral (
        select j.id, j.kind, j.payload::text as payload, j.headers::text as headers, j.attempts,
               j.max_attempts, j.cancel_requested_at, j.expires_at, j.checkpoint
        from fairlead.jobs j where j.id = l.job_id offset 0) j on true;
end $$;

drop function fairlead._claimed_bytes_max(jsonb, jsonb);
drop function fairlead._text_bytes_max(integer, text);
