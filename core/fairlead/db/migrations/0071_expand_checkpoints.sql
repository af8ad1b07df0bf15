-- Checkpoints: what a handler says its job goes on from (0088). A note of progress is one no more.

-- What is there is text that was meant for people. No statement writes such a thing from here on.
update fairlead.jobs j set checkpoint = null where j.checkpoint is not null;

-- Refuses a checkpoint that no reader could take: 64 KiB of JSON, with a result's other bounds.
create function fairlead._check_checkpoint(value jsonb) returns void
language plpgsql stable set search_path = pg_catalog, pg_temp set jit = off as $$
declare
    bytes constant integer := octet_length(value::text);
    fault constant text := case
        when value is null
        then 'is null: give the JSON value null'
        when bytes > 65536
        then format('is %s bytes of JSON, more than 65,536', to_char(bytes, 'FM999,999,999,999'))
        when bytes > 1000 and jsonb_path_exists(value, '$.**{500}')
        then 'is nested more than 500 deep'
        when bytes > 4000 and jsonb_path_exists(
            value, 'strict $.** ? (@.type() == "number" && (@ >= 1e4000 || @ <= -1e4000))')
        then 'holds a number of 1e4000 or more'
    end;
begin
    if fault is not null then
        raise exception 'fairlead: checkpoint %', fault
            using errcode = 'check_violation', constraint = 'checkpoints_are_within_bounds',
                  hint = 'Keep it somewhere else, and say in the checkpoint where.';
    end if;
end $$;

-- Whoever takes the attempt away locks the row of jobs: once that is locked here, another look at the token is the
-- last word. Before it, one keeps whoever has no such attempt from locking anything.
create function fairlead.checkpoint(job_id bigint, token bigint, value jsonb) returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp set enable_seqscan = off
set enable_bitmapscan = off set enable_mergejoin = off set enable_sort = off
set plan_cache_mode = force_generic_plan set jit = off as $$
declare
    holder name;
begin
    perform fairlead._require_read_committed();
    perform fairlead._check_checkpoint(checkpoint.value);
    if (fairlead._own(array[checkpoint.job_id], array[checkpoint.token]))[1] is null then
        perform fairlead._raise_stale(checkpoint.job_id, checkpoint.token);
    end if;
    perform from fairlead.jobs j where j.id = checkpoint.job_id for no key update;
    update fairlead.jobs j set checkpoint = checkpoint.value::text
    where j.id = checkpoint.job_id
      and (fairlead._own(array[checkpoint.job_id], array[checkpoint.token]))[1] is not null;
    if not found then
        perform fairlead._raise_stale(checkpoint.job_id, checkpoint.token);
    end if;
    select w.login into holder
    from fairlead.work_queue q join fairlead.worker_leases w on w.id = q.worker
    where q.job_id = checkpoint.job_id;
    if holder is distinct from session_user then
        perform fairlead._record_for_another('checkpoint', checkpoint.job_id, holder);
    end if;
end $$;

-- Of many attempts at a time, and without a wait: an application may have locked a job for long.
create function fairlead.store_checkpoints(ids bigint[], tokens bigint[], checkpoints text[])
returns table (token bigint, became text)
language plpgsql security definer set search_path = pg_catalog, pg_temp set enable_seqscan = off
set enable_bitmapscan = off set enable_mergejoin = off set enable_sort = off
set plan_cache_mode = force_generic_plan set jit = off as $$
#variable_conflict use_column
declare
    own bigint[] := fairlead._own(ids, tokens);
    free bigint[];
begin
    perform fairlead._require_read_committed();
    perform fairlead._check_checkpoint(a.value::jsonb) from unnest(store_checkpoints.checkpoints) as a (value);
    select array_agg(l.id) into free from (
        select j.id from fairlead.jobs j
        where j.id = any (array(
            select a.job_id from unnest(ids, own) as a (job_id, held) where a.held is not null))
        order by j.id for no key update skip locked) l;
    own := fairlead._own(ids, tokens);
    update fairlead.jobs j set checkpoint = (
        select a.value::jsonb::text from unnest(ids, own, store_checkpoints.checkpoints) as a (job_id, held, value)
        where a.job_id = j.id and a.held is not null limit 1)
    where j.id = any (array(
        select a.job_id from unnest(ids, own) as a (job_id, held)
        where a.held is not null and a.job_id = any (free)));
    return query
    select a.token, case when a.held is null then 'stale'
                         when a.job_id = any (free) then 'stored'
                         when e.is_there then 'locked'
                         else 'stale' end
    from unnest(ids, tokens, own) as a (job_id, token, held)
    left join lateral (
        select true as is_there from fairlead.jobs j where j.id = a.job_id offset 0) e on true;
end $$;

comment on column fairlead.jobs.checkpoint is 'What its handler goes on from, as JSON: its last checkpoint.';
