-- How long an attempt may run in all, so that extending its deadline cannot keep a slot for ever.

alter table fairlead.work_queue add column timeout_max interval;
comment on column fairlead.work_queue.timeout_max is
    'How long after its claim a handler may extend the attempt''s deadline to; null: a scheduler of an '
    'earlier version dispatched it, and nothing bounds that.';

-- Moves the attempt's deadline to at least by from now, no further than the pool's longest timeout after
-- the claim, and never back; answers it. A stale token raises FL001.
create or replace function fairlead.extend(job_id bigint, token bigint, by interval)
returns timestamptz language plpgsql security definer set search_path = pg_catalog, pg_temp set enable_seqscan = off as $$
declare
    until timestamptz;
begin
    if by is null or by <= interval '0' or by > interval '30 days' then
        raise exception 'fairlead: extend by must be over 0 and at most 30 days, not %', by
            using errcode = 'check_violation';
    end if;
    update fairlead.work_queue q
    set deadline = greatest(q.deadline, least(clock_timestamp() + by, q.claimed_at + q.timeout_max))
    where q.job_id = extend.job_id and q.token = extend.token
    returning q.deadline into until;
    if not found then
        perform fairlead._raise_stale(extend.job_id, extend.token);
    end if;
    return until;
end $$;
