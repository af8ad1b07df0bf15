-- What a worker announces costs others nothing, whatever it announces: who looks for a kind finds it by the kind, and a
-- value counts as what it is, not as what it is compressed to, as one from a table is.

-- Whether an array is a list of values: of one dimension, counted from 1, or empty.
create function fairlead._is_list(said anyarray) returns boolean
language sql immutable set search_path = pg_catalog, pg_temp as $$
    select cardinality(said) = 0 or array_ndims(said) = 1 and array_lower(said, 1) = 1
$$;

-- Refuses what is no list of so many values at most, or has a null among them where none may be; null is none at all.
create function fairlead._check_array(name text, said anyarray, most integer, nulls boolean) returns void
language plpgsql immutable set search_path = pg_catalog, pg_temp as $$
begin
    if not fairlead._is_list(said) or cardinality(said) > most
       or not nulls and array_position(said, null) is not null
    then
        raise exception 'fairlead: % must be a list of at most % values%', name, to_char(most, 'FM999,999,999'),
            case when nulls then '' else ', none of them null' end using errcode = 'check_violation';
    end if;
end $$;

-- Refuses what is no list of so many kinds at most, each no longer than a job's may be.
create function fairlead._check_kinds(kinds text[], most integer) returns void
language plpgsql immutable set search_path = pg_catalog, pg_temp as $$
begin
    perform fairlead._check_array('kinds', kinds, most, false);
    if exists (select from unnest(kinds) as s (kind) where octet_length(s.kind) > 128) then
        raise exception 'fairlead: a kind must be at most 128 bytes' using errcode = 'check_violation';
    end if;
end $$;

-- A value of no other shape was ever said by a program of Fairlead's, and with it reads of job_status failed.
delete from fairlead.worker_kinds k
where not (fairlead._is_list(k.kinds) and fairlead._is_list(k.max_attempts))
   or not coalesce(fairlead._is_list(k.at_most_once), true);
alter table fairlead.worker_kinds add constraint worker_kinds_are_lists check (
    fairlead._is_list(kinds) and fairlead._is_list(max_attempts) and fairlead._is_list(at_most_once));

create table fairlead.announced_kinds (
    worker       bigint references fairlead.worker_kinds on delete cascade,
    kind         text collate "C",
    max_attempts integer,
    primary key (worker, kind)
);
create index announced_kinds_newest on fairlead.announced_kinds (kind, worker desc);
comment on table fairlead.announced_kinds is
    'The kinds of worker_kinds, a row for each, for those who look for one kind.';
insert into fairlead.announced_kinds (worker, kind, max_attempts)
select k.worker, s.kind, s.max_attempts
from fairlead.worker_kinds k cross join unnest(k.kinds, k.max_attempts) with ordinality as s (kind, max_attempts, place)
where octet_length(s.kind) <= 128 and s.place <= 1000
on conflict do nothing;

-- A worker's word counts for what it runs itself: it may fail that anyway.
create function fairlead._attempts_of(max_attempts integer, kind text, worker bigint) returns integer
language sql stable set search_path = pg_catalog, pg_temp set enable_seqscan = off set jit = off as $$
    select least(greatest(coalesce(max_attempts, (
        select a.max_attempts from fairlead.announced_kinds a where a.worker = $3 and a.kind = $2), 20), 1), 1000)
$$;

-- Ends attempts, as _end_attempts does, and also as unhandled: the worker has no handler for their kind. Where
-- another live worker of the pool may have one, the job goes back to the queue as it was; the worker passes over its
-- kind from then on. Where none does it is scheduled again, after a quarter of the time for which it is there, a
-- second to two minutes: in the queue its lane would get stuck behind it. Errors are cut to 4,096 characters, as
-- wherever a worker gives one, so that the 4 KiB that Fairlead's own programs keep stay whole.
create function fairlead.hand_back(
    ids bigint[], tokens bigint[], ended_as text[], errors text[] default null,
    delays interval[] default null
) returns table (job_id bigint, token bigint, became text, queue text, kind text)
language plpgsql security definer set search_path = pg_catalog, pg_temp set enable_seqscan = off
set enable_bitmapscan = off set enable_mergejoin = off set enable_sort = off
set plan_cache_mode = force_generic_plan set jit = off as $$
#variable_conflict use_column
declare
    own constant bigint[] := fairlead._own(ids, tokens);
begin
    return query
    with asked as materialized (
        select a.job_id, a.held,
               case when u.elsewhere then 'returned' when not u.elsewhere then 'snoozed'
                    else a.ended_as end as ended_as,
               case when u.elsewhere then null else left(a.error, 4096) end as error,
               coalesce(u.delay, a.delay) as delay
        from unnest(ids, own, hand_back.ended_as, errors, delays) as a (job_id, held, ended_as, error, delay)
        left join lateral (
            select exists (
                       select from fairlead.worker_leases w
                       where w.pool = q.pool and w.id <> q.worker and w.dead_at is null and w.lease_until > now()
                         and not w.draining
                         and (exists (select from fairlead.announced_kinds a
                                      where a.worker = w.id and a.kind = j.kind offset 0)
                              or not exists (select from fairlead.worker_kinds k
                                             where k.worker = w.id offset 0))) as elsewhere,
                   interval '1 second' * ((0.75 + random() / 2) * least(120, greatest(
                       1, (fairlead._epoch_us(now()) - fairlead._epoch_us(j.created_at)) / 4e6::float8))) as delay
            from fairlead.work_queue q cross join lateral (
                select j.kind, j.created_at from fairlead.jobs j where j.id = q.job_id offset 0) j
            where a.ended_as = 'unhandled' and q.job_id = a.job_id and q.token = a.held offset 0) u on true
        where a.held is not null
    ), given as materialized (
        select array_agg(a.job_id) as jobs, array_agg(a.held) as held, array_agg(a.ended_as) as how,
               array_agg(a.error) as why, array_agg(a.delay) as rests
        from asked a
    ), done as materialized (
        select e.job_id, e.token, e.became from given g cross join lateral fairlead._end_attempts(
            g.jobs, g.held, g.how, g.why, g.rests, true) e
        where g.jobs is not null
    )
    select a.job_id, a.token,
           coalesce((select d.became from done d where d.job_id = a.job_id and d.token = a.held), 'stale'),
           j.queue, j.kind
    from unnest(ids, tokens, own) as a (job_id, token, held)
    left join lateral (
        select j.queue, j.kind from fairlead.jobs j
        where j.id = a.job_id and a.held is not null offset 0) j on true;
end $$;

-- Crash breakers, if they are at most 100 pairs of a kind and a tenant, of at most 32 KiB of text together; else null.
-- Fairlead's workers say no more, and doctor and explain read those of all of them.
create function fairlead._readable_breakers(said jsonb) returns jsonb
language plpgsql immutable set search_path = pg_catalog, pg_temp as $$
begin
    return case when octet_length(said::text) <= 32768 and jsonb_typeof(said) = 'array'
                     and not jsonb_path_exists(said, '$[100]')
                     and not jsonb_path_exists(said, 'strict $[*] ? (!(@.type() == "array" && @.size() == 2
                         && @[0].type() == "string" && @[1].type() == "string"))')
                then said end;
end $$;
