-- The bytes of a claim are those of the text that it answers.
--
-- What a payload takes in its table says little: a number there may have a thousandth of its digits, so that 1 kB of
-- [1e-16383, ...] is 1 MiB of text.

-- Reads these jobs for one claim, in the order given, until they have 16 MiB of payloads and headers in all; the
-- first in any case. All are looked up in one scan, hashed and sorted as they are stored, and only what is answered
-- is made a text. A nested loop would look through all of them for each. A job that is gone has no kind.
create function fairlead._read_claimed(jobs bigint[]) returns table (
    job_id bigint, kind text, payload text, headers text, attempts integer, max_attempts integer,
    cancel_requested_at timestamptz, expires_at timestamptz, checkpoint text
) language plpgsql stable set search_path = pg_catalog, pg_temp set enable_nestloop = off as $$
declare
    bytes_left bigint := 16777216;
    is_first boolean := true;
begin
    for job_id, kind, payload, headers, attempts, max_attempts, cancel_requested_at, expires_at, checkpoint in
        select r.id, r.kind, r.payload::text, r.headers::text, r.attempts, r.max_attempts, r.cancel_requested_at,
               r.expires_at, r.checkpoint
        from (
            select p.id, j.kind, j.payload, j.headers, j.attempts, j.max_attempts, j.cancel_requested_at,
                   j.expires_at, j.checkpoint
            from unnest(jobs) with ordinality as p (id, place)
            left join (
                select f.id, f.kind, f.payload, f.headers, f.attempts, f.max_attempts, f.cancel_requested_at,
                       f.expires_at, f.checkpoint
                from fairlead.jobs f where f.id = any (jobs) offset 0) j on j.id = p.id
            order by p.place offset 0) r
    loop
        bytes_left := bytes_left - coalesce(octet_length(payload), 0) - coalesce(octet_length(headers), 0);
        exit when bytes_left < 0 and not is_first;
        is_first := false;
        return next;
    end loop;
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
    ), read as materialized (
        select r.* from fairlead._read_claimed(array(select p.job_id from picked p)) r
    ), leased as (
        update fairlead.work_queue q
        set worker = claim.worker, token = nextval('fairlead.tokens') + (select t.base from timeline t),
            claimed_at = now(), deadline = fairlead._deadline(q.timeout)
        where q.ctid = any (array(
            select p.place from picked p limit (select count(*) from read)))
        returning q.job_id, q.token, q.queue, q.tenant, q.runnable_at, q.timeout, q.timeout_max, q.alone
    ), receipt as (
        insert into fairlead.receipts (worker, claimed)
        select claim.worker, array_agg(l.job_id) from leased l having count(*) > 0
    )
    select l.job_id, l.token, l.queue, l.tenant, r.kind, r.payload, r.headers, fairlead._one_more(r.attempts),
           r.max_attempts, extract(epoch from l.timeout)::float8,
           extract(epoch from l.timeout_max)::float8, l.alone,
           (fairlead._epoch_us(now()) - fairlead._epoch_us(l.runnable_at)) / 1e6::float8,
           case when r.kind is null then 'gone'
                when r.cancel_requested_at is not null then 'cancelled'
                when r.expires_at <= now() then 'expired' end, r.checkpoint
    from leased l join read r on r.job_id = l.job_id;
end $$;
