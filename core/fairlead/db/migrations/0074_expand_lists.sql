-- Jobs and batches are listed by walks of indexes that are there for other reasons, each over a bounded number of rows.
--
-- The newest first is the order of their ids. Unfinished ones are looked for by id, among the newest; where that finds
-- too few of a tenant, a queue or a state, by the lanes' indexes, which have all of a tenant's. Endings are looked for by
-- id as well, and a tenant's that did not succeed by an index of their own.

-- Of those that did not succeed: one of all endings would double the server's time for each, and one of jobs would take 40 %
-- more of it for each INSERT (ADR 0091). Its condition is true of every row, and no other statement states it: what looks for
-- an id alone would take this index as well, by skipping from tenant to tenant.
create index job_history_tenant on fairlead.job_history_unsuccessful (tenant, id) where tenant >= '';

-- Where the ids begin of jobs that were inserted after an instant: found by halves, for ids are drawn in the order of
-- INSERTs, but for those of transactions that took long.
create function fairlead._first_id_after(instant timestamptz, ended boolean) returns bigint
language plpgsql stable set search_path = pg_catalog, pg_temp as $$
declare
    low bigint := 0;
    high bigint := case when ended
        then (select h.id from fairlead.job_history h order by h.id desc limit 1)
        else (select j.id from fairlead.jobs j order by j.id desc limit 1) end + 1;
    middle bigint;
    found_id bigint;
    found_at timestamptz;
begin
    while low < high loop
        middle := low + (high - low) / 2;
        if ended then
            select h.id, h.created_at into found_id, found_at from fairlead.job_history h
            where h.id >= middle and h.id < high order by h.id limit 1;
        else
            select j.id, j.created_at into found_id, found_at from fairlead.jobs j
            where j.id >= middle and j.id < high order by j.id limit 1;
        end if;
        if found_id is null or found_at > instant then
            high := middle;
        else
            low := found_id + 1;
        end if;
    end loop;
    return low;
end $$;

-- Jobs of a queue or of a tenant that are due, by the lanes' index, rows_max at most, and whether these are all: a queue's or
-- none if it has more, and of each of a tenant's lanes and priorities those with the newest places.
create function fairlead._due_like(of_queue text, of_tenant text, rows_max integer, out ids bigint[], out complete boolean)
language plpgsql stable set search_path = pg_catalog, pg_temp as $$
declare
    queues_max constant integer := 500;
    lanes_max constant integer := 500;
    queues text[] := array[of_queue];
    in_queues text[];
    ranks smallint[];
    each_max integer;
    longest integer;
begin
    if of_tenant is null then
        ids := array(
            select j.id from fairlead.jobs j where j.queue = of_queue and j.run_at is null
            order by j.queue, j.tenant, j.rank, j.seq limit rows_max);
        complete := cardinality(ids) < rows_max;
        ids := case when complete then ids else '{}' end;
        return;
    end if;
    if of_queue is null then
        with recursive named as (
            (select j.queue from fairlead.jobs j where j.run_at is null order by j.queue limit 1)
            union all
            select n.queue from named q cross join lateral (
                select j.queue from fairlead.jobs j
                where j.run_at is null and j.queue > q.queue order by j.queue limit 1) n
        )
        select array_agg(q.queue) into queues from (select n.queue from named n limit queues_max) q;
    end if;
    select array_agg(l.queue), array_agg(l.rank) into in_queues, ranks
    from (
        select q.queue, r.rank from unnest(queues) q (queue) cross join lateral (
            with recursive ranked as (
                (select j.rank from fairlead.jobs j
                 where j.queue = q.queue and j.tenant = of_tenant and j.run_at is null
                 order by j.queue, j.tenant, j.rank limit 1)
                union all
                select n.rank from ranked p cross join lateral (
                    select j.rank from fairlead.jobs j
                    where j.queue = q.queue and j.tenant = of_tenant and j.rank > p.rank and j.run_at is null
                    order by j.queue, j.tenant, j.rank limit 1) n
            )
            select p.rank from ranked p) r
        limit lanes_max) l;
    each_max := rows_max / greatest(cardinality(ranks), 1);
    select array_agg(h.id), max(h.place) into ids, longest
    from unnest(in_queues, ranks) l (queue, rank) cross join lateral (
        select n.id, row_number() over () as place from (
            select j.id from fairlead.jobs j
            where j.queue = l.queue and j.tenant = of_tenant and j.rank = l.rank and j.run_at is null
            order by j.seq desc limit each_max) n) h;
    complete := coalesce(longest, 0) < each_max and coalesce(cardinality(ranks), 0) < lanes_max
                and coalesce(cardinality(queues), 0) < queues_max;
end $$;

-- Scheduled jobs of a queue, of a tenant, of one in the other, or of all, rows_max at most, and whether these are all.
create function fairlead._scheduled_like(of_queue text, of_tenant text, rows_max integer, out ids bigint[], out complete boolean)
language plpgsql stable set search_path = pg_catalog, pg_temp as $$
declare
    queues_max constant integer := 500;
    queues text[] := array[of_queue];
    looked integer := 0;
begin
    if of_tenant is null and of_queue is null then
        ids := array(select j.id from fairlead.jobs j where j.run_at is not null order by j.run_at limit rows_max);
    elsif of_tenant is null then
        select array_agg(n.id) filter (where n.run_at is not null), count(*) into ids, looked
        from (
            select j.id, j.run_at from fairlead.jobs j
            where j.queue = of_queue and num_nonnulls(j.run_at, j.expires_at) > 0
            order by j.queue, j.tenant, j.run_at, j.expires_at limit rows_max) n;
    else
        if of_queue is null then
            with recursive named as (
                (select j.queue from fairlead.jobs j where num_nonnulls(j.run_at, j.expires_at) > 0
                 order by j.queue limit 1)
                union all
                select n.queue from named q cross join lateral (
                    select j.queue from fairlead.jobs j
                    where num_nonnulls(j.run_at, j.expires_at) > 0 and j.queue > q.queue order by j.queue limit 1) n
            )
            select array_agg(q.queue) into queues from (select n.queue from named n limit queues_max) q;
        end if;
        select array_agg(h.id) into ids
        from (
            select n.id from unnest(queues) q (queue) cross join lateral (
                select j.id from fairlead.jobs j
                where j.queue = q.queue and j.tenant = of_tenant and j.run_at is not null
                  and num_nonnulls(j.run_at, j.expires_at) > 0
                order by j.run_at limit rows_max) n
            limit rows_max) h;
    end if;
    ids := coalesce(ids, '{}');
    complete := greatest(cardinality(ids), looked) < rows_max and coalesce(cardinality(queues), 0) < queues_max;
end $$;

-- Jobs of a queue or of a tenant, or all that are scheduled, by the lanes' indexes, and whether these are all of them.
create function fairlead._lane_jobs(
    of_queue text, of_tenant text, among_due boolean, among_scheduled boolean, rows_max integer, out ids bigint[],
    out complete boolean
) language sql stable set search_path = pg_catalog, pg_temp
begin atomic
    select coalesce(d.ids, '{}') || coalesce(s.ids, '{}'), coalesce(d.complete, true) and coalesce(s.complete, true)
    from (select) one
    left join lateral (select * from fairlead._due_like(of_queue, of_tenant, rows_max) f where among_due) d on true
    left join lateral (
        select * from fairlead._scheduled_like(of_queue, of_tenant, rows_max) f where among_scheduled) s on true;
end;

-- See list_jobs. Where it has not looked at all there are, the last row has no id: it says at what it has looked, and before
-- which id to go on.
--
-- Each statement is a walk, which an index gives its order, so many rows of it, and the wanted of those that are like what is
-- asked for. They differ by index and by what is asked for, and are planned when they are called.
create function fairlead._list_jobs(
    of_queue text, of_tenant text, of_kind text, in_state text, jobs_max integer, since timestamptz, until timestamptz,
    before_id bigint
) returns table (
    id bigint, state text, queue text, tenant text, kind text, attempt integer, max_attempts integer,
    priority smallint, created_at timestamptz, run_at timestamptz, runnable_at timestamptz,
    claimed_at timestamptz, finished_at timestamptz, progress real, error text, left_out text, go_on_before bigint
) language plpgsql stable security definer set search_path = pg_catalog, pg_temp set enable_seqscan = off set jit = off
set enable_bitmapscan = off set enable_sort = off set enable_indexscan = on set enable_tidscan = on as $$
#variable_conflict use_column
declare
    looked_max integer;
    lanes_max constant integer := 3000;
    wanted constant integer := least(greatest(coalesce(jobs_max, 1000), 0), 1000);
    reads_all constant boolean := fairlead._reads_all();
    by_tenant constant boolean := (select o.rls from fairlead.install_options o);
    among_ended constant boolean := in_state is null or in_state in ('succeeded', 'failed', 'cancelled', 'expired');
    of_live constant text := 'select j.id, j.queue, j.tenant, j.kind, j.created_at, j.enqueued_by, j.run_at, '
                             'null::timestamptz as finished_at, null as outcome from fairlead.jobs j ';
    of_ended constant text := 'select h.id, h.queue, h.tenant, h.kind, h.created_at, h.enqueued_by, '
                              'h.finished_at, h.outcome from fairlead.%s h where %s ';
    by_id constant text := 'h.id < $7 and h.id >= $8 order by h.id desc';
    by_tenant_and_id constant text := '(h.tenant, h.id) < ($2, $7) and (h.tenant, h.id) >= ($2, $8) and h.tenant >= '''' '
                                      'order by h.tenant desc, h.id desc';
    walks text[] := '{}';
    walk text;
    filter text;
    below bigint;
    above bigint;
    found record;
    unseen bigint;
    unseen_most bigint;
    looked text[] := '{}';
    last_id bigint;
    live bigint[] := '{}';
    ended bigint[] := '{}';
    ended_at timestamptz[] := '{}';
begin
    if of_tenant is null and by_tenant and not reads_all then
        of_tenant := (select min(t.tenant) from fairlead.tenant_logins t
                      where t.login = session_user having count(*) = 1);
    end if;
    filter := concat_ws(
        ' and ',
        case when of_queue is not null then 'c.queue = $1' end,
        case when of_tenant is not null then 'c.tenant = $2' end,
        case when of_kind is not null then 'c.kind = $3' end,
        case when since is not null then 'c.created_at >= $5' end,
        case when until is not null then 'c.created_at <= $6' end,
        case in_state
            when 'scheduled' then 'c.run_at is not null'
            when 'queued' then 'c.worker is null'
            when 'running' then 'c.worker is not null'
            when 'pending' then 'c.run_at is null and not exists ('
                                'select from fairlead.work_queue q where q.job_id = c.id offset 0)'
            else case when among_ended and in_state is not null then 'c.outcome = $4' end end,
        case when reads_all then 'true'
             when by_tenant then 'c.tenant in (select t.tenant from fairlead.tenant_logins t where t.login = session_user)'
             else 'c.enqueued_by = session_user' end);

    if in_state is null or in_state in ('pending', 'scheduled') then
        walks := array[of_live || 'where j.id < $7 and j.id >= $8 order by j.id desc'];
    elsif in_state in ('queued', 'running') then
        -- What is not asked for is not looked up.
        walks := array[
            'select q.job_id as id, q.queue, q.tenant, q.worker, null::timestamptz as finished_at, '
            '(select j.kind from fairlead.jobs j where j.id = q.job_id) as kind, '
            '(select j.created_at from fairlead.jobs j where j.id = q.job_id) as created_at, '
            '(select j.enqueued_by from fairlead.jobs j where j.id = q.job_id) as enqueued_by '
            'from fairlead.work_queue q where q.job_id < $7 and q.job_id >= $8 and not q.completed '
            'order by q.job_id desc'];
    end if;
    if among_ended then
        if in_state is null or in_state = 'succeeded' then
            walks := walks || format(of_ended, 'job_history_succeeded', by_id);
        end if;
        if in_state is distinct from 'succeeded' then
            walks := walks || format(
                of_ended, 'job_history_unsuccessful', case when of_tenant is null then by_id else by_tenant_and_id end);
        end if;
    end if;

    looked_max := 18000 / greatest(cardinality(walks), 1);
    foreach walk in array walks loop
        below := least(coalesce(before_id, 9223372036854775807), case when until is not null
            then fairlead._first_id_after(until, walk like 'select h.%') end);
        above := case when since is null then -9223372036854775808
                      else fairlead._first_id_after(since - interval '1 hour', walk like 'select h.%') end;
        execute format('select array_agg(p.id) as ids, array_agg(p.finished_at) as at from ('
                       'select c.id, c.finished_at from (%s limit %s) c where %s order by c.id desc limit %s) p',
                       walk, looked_max, filter, wanted)
        into found using of_queue, of_tenant, of_kind, in_state, since, until, below, above;
        unseen := null;
        if coalesce(cardinality(found.ids), 0) < wanted then
            execute format('select w.id from (%s offset %s limit 1) w', walk, looked_max)
            into unseen using of_queue, of_tenant, of_kind, in_state, since, until, below, above;
        end if;
        if walk like 'select h.%' then
            ended := ended || found.ids;
            ended_at := ended_at || found.at;
        else
            live := coalesce(found.ids, '{}');
        end if;
        if unseen is not null and walk like 'select j.%'
           and (coalesce(of_tenant, of_queue) is not null or in_state = 'scheduled') then
            select d.ids, d.complete into found
            from fairlead._lane_jobs(of_queue, of_tenant, in_state is distinct from 'scheduled',
                                     in_state is distinct from 'pending', lanes_max) d;
            if found.complete then
                unseen := null;
            end if;
            execute format('select array_agg(p.id) as ids from (select c.id from ('
                           'select distinct u.id from unnest($9) u (id)) l cross join lateral (%s where j.id = l.id '
                           'and j.id < $7 and j.id >= $8 offset 0) c where %s order by c.id desc limit %s) p',
                           of_live, filter, wanted)
            into live using of_queue, of_tenant, of_kind, in_state, since, until, below, above, live || found.ids;
        end if;
        if unseen is not null then
            unseen_most := greatest(unseen_most, unseen);
            looked := looked || case
                when walk like '% fairlead.job_history_succeeded %' then 'have succeeded'
                when walk like 'select h.%' then 'have failed, expired or been cancelled' else 'are unfinished' end;
        end if;
    end loop;

    return query
    select d.*, null::text, null::bigint from (
        select j.id,
               case when q.worker is not null then 'running' when q.job_id is not null then 'queued'
                    when j.run_at is not null then 'scheduled' else 'pending' end,
               j.queue, j.tenant, j.kind, least(j.attempts, 2147483646) + (q.worker is not null)::integer,
               coalesce(j.max_attempts, (
                   select k.max_attempts from fairlead.announced_kinds k
                   where k.kind = j.kind order by k.worker desc limit 1), 20),
               j.priority, j.created_at, j.run_at, q.runnable_at, q.claimed_at, null::timestamptz, p.fraction,
               j.last_error
        from unnest(live) l (id)
        cross join lateral (select * from fairlead.jobs j where j.id = l.id offset 0) j
        left join lateral (select * from fairlead.work_queue q where q.job_id = j.id offset 0) q on true
        left join lateral (
            select * from fairlead.job_progress p where p.job_id = j.id and p.token = q.token offset 0) p on true
        union all
        select h.id, h.outcome, h.queue, h.tenant, h.kind, h.attempt,
               coalesce(h.max_attempts, (
                   select k.max_attempts from fairlead.announced_kinds k
                   where k.kind = h.kind order by k.worker desc limit 1), 20),
               h.priority, h.created_at, null, h.runnable_at, h.claimed_at, h.finished_at, null, h.error
        from unnest(ended, ended_at) e (id, at)
        cross join lateral (
            select * from fairlead.job_history h where h.id = e.id and h.finished_at = e.at
            order by h.token desc nulls last limit 1) h
        where not exists (select from fairlead.jobs j where j.id = h.id offset 0)
          and not exists (
              select from fairlead.job_history later
              where later.id = h.id and later.finished_at > h.finished_at
                and later.finished_at < now() + interval '1 day' offset 0)) d (id)
    order by d.id desc limit wanted;
    last_id := (select l.id from unnest(live || ended) l (id) order by l.id desc offset greatest(wanted - 1, 0) limit 1);
    if wanted > 0 and unseen_most > coalesce(last_id, -9223372036854775808) then
        return query select
            null::bigint, null::text, null::text, null::text, null::text, null::integer, null::integer, null::smallint,
            null::timestamptz, null::timestamptz, null::timestamptz, null::timestamptz, null::timestamptz, null::real,
            null::text,
            format('looked at the newest %s of the jobs that %s, and there are older ones',
                   to_char(looked_max, 'FM999,999'), array_to_string(looked, ' and of those that ')),
            unseen_most + 1;
    end if;
end $$;

create function fairlead.list_jobs(
    of_queue text default null, of_tenant text default null, of_kind text default null, in_state text default null,
    jobs_max integer default 20, since timestamptz default null, until timestamptz default null,
    before_id bigint default null
) returns table (
    id bigint, state text, queue text, tenant text, kind text, attempt integer, max_attempts integer,
    priority smallint, created_at timestamptz, run_at timestamptz, runnable_at timestamptz,
    claimed_at timestamptz, finished_at timestamptz, progress real, error text
) language plpgsql stable security definer set search_path = pg_catalog, pg_temp as $$
#variable_conflict use_column
declare
    one record;
begin
    for one in
        select * from fairlead._list_jobs(
            of_queue, of_tenant, of_kind, in_state, jobs_max, since, until, before_id)
    loop
        if one.id is null then
            raise notice 'fairlead: %', one.left_out
                using hint = format('For older ones give before_id => %s.', one.go_on_before);
            continue;
        end if;
        return query select
            one.id, one.state, one.queue, one.tenant, one.kind, one.attempt, one.max_attempts, one.priority, one.created_at,
            one.run_at, one.runnable_at, one.claimed_at, one.finished_at, one.progress, one.error;
    end loop;
end $$;

-- Batches are few beside jobs: of the newest 10,000, of a tenant's or of those that are not over where these are asked for.
create function fairlead._newest_batches(
    of_tenant text, in_state text, batches_max integer, before_id bigint, out ids bigint[], out go_on_before bigint
) language plpgsql stable set search_path = pg_catalog, pg_temp as $$
declare
    looked_max constant integer := 10000;
    wanted constant integer := least(greatest(coalesce(batches_max, 1000), 0), 1000);
    below constant bigint := coalesce(before_id, 9223372036854775807);
    reads_all constant boolean := fairlead._reads_all();
    walk constant text := 'select b.id, b.tenant, b.created_by, b.open, b.completed_at, b.completion_job, b.problem '
                          'from fairlead.batches b where ' || case
        when of_tenant is not null
        then '(b.tenant, b.id) < ($1, $2) and (b.tenant, b.id) >= ($1, 0) order by b.tenant desc, b.id desc'
        when in_state in ('open', 'waiting', 'refused')
        then 'b.completed_at is null and b.id < $2 order by b.id desc'
        else 'b.id < $2 order by b.id desc' end;
    filter constant text := concat_ws(
        ' and ', case in_state
            when 'completed' then 'c.completion_job is not null'
            when 'given_up' then 'c.completed_at is not null and c.completion_job is null'
            when 'refused' then 'c.completed_at is null and c.problem is not null'
            when 'open' then 'c.completed_at is null and c.problem is null and c.open'
            when 'waiting' then 'c.completed_at is null and c.problem is null and not c.open'
            else case when in_state is null then 'true' else 'false' end end,
        case when not reads_all then 'fairlead._owns_batch(c.tenant, c.created_by)' end);
begin
    execute format('select coalesce(array_agg(p.id), ''{}'') from ('
                   'select c.id from (%s limit %s) c where %s order by c.id desc limit %s) p',
                   walk, looked_max, filter, wanted) into ids using of_tenant, below;
    if cardinality(ids) < wanted then
        execute format('select w.id + 1 from (%s offset %s limit 1) w', walk, looked_max)
        into go_on_before using of_tenant, below;
    end if;
end $$;

create function fairlead.list_batches(
    of_tenant text default null, in_state text default null, batches_max integer default 20,
    before_id bigint default null
) returns table (
    id bigint, tenant text, queue text, kind text, state text, jobs bigint, jobs_is_more boolean, succeeded bigint,
    failed bigint, cancelled bigint, expired bigint, unknown bigint, uncounted bigint, waits_for text,
    created_at timestamptz, completed_at timestamptz, completion_job bigint, created_by text
) language plpgsql stable security definer set search_path = pg_catalog, pg_temp set enable_seqscan = off set jit = off
set enable_bitmapscan = off set enable_sort = off set enable_indexscan = on set enable_tidscan = on as $$
#variable_conflict use_column
declare
    found record;
begin
    select n.ids, n.go_on_before into found
    from fairlead._newest_batches(of_tenant, in_state, batches_max, before_id) n;
    return query
    select s.id, s.tenant, s.queue, s.kind, s.state, s.jobs, s.jobs_is_more, s.succeeded, s.failed, s.cancelled,
           s.expired, s.unknown, s.uncounted, s.waits_for, s.created_at, s.completed_at, s.completion_job, s.created_by
    from unnest(found.ids) f (id)
    cross join lateral (select * from fairlead.batch_status s where s.id = f.id offset 0) s
    order by f.id desc;
    if found.go_on_before is not null then
        raise notice 'fairlead: looked at the newest 10,000 batches, and there are older ones'
            using hint = format('For older ones give before_id => %s.', found.go_on_before);
    end if;
end $$;
