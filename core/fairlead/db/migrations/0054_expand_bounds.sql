-- What a worker's login says of itself and of its jobs is bounded in size, as what an application says is. Services
-- read these rows, and one of 150 MB ended each term of the leader by its statement's timeout.
--
-- The table has no checks for it: a row of before that breaks one could neither be renewed nor marked dead. Only
-- register_worker inserts workers, and it bounds what they say.

-- Notes are cut to the 1,000 characters that Fairlead's own programs keep of one.
create function fairlead.store_progress(
    ids bigint[], tokens bigint[], fractions real[], notes text[]
) returns void language plpgsql security definer set search_path = pg_catalog, pg_temp set enable_seqscan = off
set enable_bitmapscan = off set enable_mergejoin = off set enable_sort = off
set plan_cache_mode = force_generic_plan set jit = off as $$
#variable_conflict use_column
declare
    own constant bigint[] := fairlead._own(ids, tokens);
begin
    insert into fairlead.job_progress (job_id, token, fraction, note, at)
    select a.job_id, a.held, a.fraction, left(a.note, 1000), now()
    from unnest(ids, own, fractions, notes) as a (job_id, held, fraction, note)
    where a.held is not null
    on conflict (job_id) do update
    set token = excluded.token, fraction = excluded.fraction, note = excluded.note, at = excluded.at;
end $$;
