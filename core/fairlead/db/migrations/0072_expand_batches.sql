-- Batches: when all jobs of a batch have ended, however each did, the leader inserts one more, with the counts.
--
-- A batch is a row of batches, and a job joins it by naming it in its INSERT. No ending and no claim knows of it: the
-- INSERT notes the job in batch_jobs, and the leader goes through these notes in the order in which they were made, up
-- to the first job that has not ended. A look at a batch that waits reads one note and one job, and each note is
-- read, counted and deleted once. Only where the first one takes longer than six hours are those behind it looked at, so
-- that they are counted before the history of their endings is gone, which is kept for a day at least.

create table fairlead.batches (
    id             bigint      generated always as identity constraint batches_pkey primary key,
    open           boolean     not null default false,
    tenant         text        collate "C" not null default '',
    queue          text        collate "C" not null default 'default',
    kind           text        collate "C" not null,
    payload        jsonb       not null default '{}',
    priority       smallint    not null default 0,
    max_attempts   integer,
    timeout        interval,
    headers        jsonb,
    created_at     timestamptz not null default now(),
    created_by     text        collate "C" default session_user,
    succeeded      bigint      not null default 0,
    failed         bigint      not null default 0,
    cancelled      bigint      not null default 0,
    expired        bigint      not null default 0,
    unknown        bigint      not null default 0,
    counted_to     bigint      not null default 0,
    looked_to      bigint      not null default 0,
    looked_at      timestamptz not null default now(),
    completed_at   timestamptz,
    completion_job bigint,
    problem        text,
    constraint batches_queue_is_1_to_128_bytes check (octet_length(queue) between 1 and 128),
    constraint batches_tenant_is_at_most_128_bytes check (octet_length(tenant) <= 128),
    constraint batches_kind_is_1_to_128_bytes check (octet_length(kind) between 1 and 128),
    constraint batches_priority_is_between_minus_100_and_100 check (priority between -100 and 100),
    constraint batches_max_attempts_is_between_1_and_1000 check (max_attempts between 1 and 1000),
    constraint batches_timeout_is_between_1_ms_and_30_days
        check (timeout between interval '1 millisecond' and interval '30 days')
) with (fillfactor = 70, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000);
alter table fairlead.batches
    alter tenant set statistics 0, alter queue set statistics 0, alter kind set statistics 0,
    alter payload set statistics 0, alter headers set statistics 0, alter created_by set statistics 0,
    alter problem set statistics 0;
create index batches_unfinished on fairlead.batches (id) where completed_at is null;
create index batches_unfinished_of on fairlead.batches (created_by, tenant) where completed_at is null;
create index batches_tenant on fairlead.batches (tenant, id);
create index batches_age on fairlead.batches (completed_at) where completed_at is not null;
comment on table fairlead.batches is
    'Batches of jobs, each with the job that is inserted when all of them have ended. Applications insert rows here.';
comment on column fairlead.batches.open is
    'Whether it waits for jobs of later transactions, until close_batch. Otherwise it is over as soon as all of its jobs '
    'have ended, at once if there are none; until then others may join it.';
comment on column fairlead.batches.tenant is 'Whose it is, and whose job its completion is.';
comment on column fairlead.batches.queue is 'Of the completion''s job, as are kind and the following: see jobs.';
comment on column fairlead.batches.payload is
    'An object of at most 64 KiB. The completion''s job has it with one member more, batch: its id, how many jobs it had, '
    'and how many succeeded, failed, were cancelled, expired, or ended unknown. Emptied when that job is inserted.';
comment on column fairlead.batches.headers is 'An object of at most 4 KiB: trace context and the like.';
comment on column fairlead.batches.created_by is 'The login that inserted it.';
comment on column fairlead.batches.succeeded is
    'How many of its jobs have succeeded, of those that are counted: in the order in which they joined, up to the first '
    'that has not ended; and some behind that where it takes hours.';
comment on column fairlead.batches.unknown is
    'Jobs that have ended and that the history does not have: deleted by hand, erased, or past its retention.';
comment on column fairlead.batches.counted_to is 'The place of the last job that is counted.';
comment on column fairlead.batches.looked_to is
    'The place up to which jobs behind the first that has not ended were looked at in this round, 0 between two.';
comment on column fairlead.batches.looked_at is 'When the last such round has ended.';
comment on column fairlead.batches.completed_at is
    'When it was over. Without a completion_job nobody closed it, or it was erased.';
comment on column fairlead.batches.completion_job is 'The job that was inserted then.';
comment on column fairlead.batches.problem is
    'Why that job cannot be inserted, such as a full backlog; it is tried again about once a second.';

create table fairlead.batch_jobs (
    batch  bigint not null,
    place  bigint generated always as identity,
    job_id bigint not null,
    constraint batch_jobs_pkey primary key (batch, place)
) with (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 10000, autovacuum_vacuum_cost_delay = 0);
comment on table fairlead.batch_jobs is
    'The jobs of batches that are not counted yet. A place is drawn while the batch is locked, so none becomes visible '
    'behind one that the leader has counted.';

alter table fairlead.jobs add column batch bigint;
comment on column fairlead.jobs.batch is
    'The batch that it joins, which is not over and is the login''s own; a worker''s login may also add to those of '
    'which it runs a job.';

-- Is a batch the caller's own? As a job is, and a worker's login has those that its handlers made.
create function fairlead._owns_batch(of_tenant text, of_login text) returns boolean
language plpgsql stable security definer set search_path = pg_catalog, pg_temp as $$
begin
    return of_login = session_user and not (select o.rls from fairlead.install_options o)
        or of_login = session_user and fairlead._is_member('fairlead_worker')
        or fairlead._owns(of_tenant, of_login);
end $$;

-- Does a live worker of the caller's login run a job of the batch that has not ended?
create function fairlead._runs_in_batch(of_batch bigint) returns boolean
language plpgsql stable security definer set search_path = pg_catalog, pg_temp set enable_hashjoin = off
set enable_mergejoin = off set jit = off as $$
begin
    return fairlead._is_member('fairlead_worker') and exists (
        select from fairlead.work_queue q
        where q.worker = any (array(
            select w.id from fairlead.worker_leases w
            where w.dead_at is null and (
                w.login = session_user
                or pg_has_role(session_user, to_regrole(quote_ident(w.login)), 'member'))))
          and exists (select from fairlead.jobs j where j.id = q.job_id and j.batch = of_batch offset 0));
end $$;

-- What a batch's completion will be is checked when the batch is made, as its job would be.
create function fairlead._admit_batch() returns trigger
language plpgsql security definer set search_path = pg_catalog, pg_temp set enable_seqscan = off
set enable_bitmapscan = off set jit = off as $$
declare
    of_login_max constant integer := 10000;
    of_tenant_max constant integer := 1000;
    payload_text constant text := new.payload::text;
    headers_text constant text := new.headers::text;
    broken constant text := case
        when octet_length(payload_text) > 65536
             or octet_length(payload_text) > 4000 and fairlead._has_huge_number(new.payload, payload_text)
        then 'batches_payload_is_at_most_64_kib_and_its_numbers_below_1e4000'
        when jsonb_typeof(new.payload) <> 'object' or new.payload ? 'batch'
        then 'batches_payload_is_an_object_without_a_member_batch'
        when octet_length(payload_text) > 1000 and fairlead._is_too_deep(new.payload, payload_text)
        then 'batches_payload_is_nested_at_most_500_deep'
        when jsonb_typeof(new.headers) <> 'object' or octet_length(headers_text) > 4096
        then 'batches_headers_are_an_object_of_at_most_4_kib'
        when octet_length(headers_text) > 1000 and (fairlead._is_too_deep(new.headers, headers_text)
                                                    or fairlead._has_huge_number(new.headers, headers_text))
        then 'batches_headers_are_nested_500_deep_numbers_below_1e4000'
    end;
    field constant text := substring(broken from '^batches_(.+?)_(?:is|are)_');
begin
    if broken is not null then
        raise check_violation using
            message = format('new row for relation "batches" violates check constraint "%s"', broken),
            detail = format('%s is %s bytes of JSON.', field, octet_length(
                case field when 'payload' then payload_text else headers_text end)),
            schema = 'fairlead', table = 'batches', column = field, constraint = broken;
    end if;
    if (select count(*) from (
            select from fairlead.batches b
            where b.created_by = new.created_by and b.tenant = new.tenant and b.completed_at is null
            order by b.tenant limit of_tenant_max) m) = of_tenant_max
    then
        raise exception 'fairlead: tenant % has % batches of this login''s that are not over: insert again when some are',
            quote_literal(new.tenant), to_char(of_tenant_max, 'FM99,999')
            using errcode = 'FL005', schema = 'fairlead', table = 'batches', column = 'tenant';
    end if;
    if (select count(*) from (
            select from fairlead.batches b
            where b.created_by = new.created_by and b.completed_at is null
            order by b.tenant limit of_login_max) m) = of_login_max
    then
        raise exception 'fairlead: this login has % batches that are not over: insert again when some are',
            to_char(of_login_max, 'FM99,999') using errcode = 'FL005', schema = 'fairlead', table = 'batches';
    end if;
    return new;
end $$;
create trigger batches_admit before insert on fairlead.batches
    for each row execute function fairlead._admit_batch();

-- Notes that a job has joined a batch. The lock on the batch lasts as long as the transaction: the leader counts and
-- completes no batch to which somebody is adding.
create function fairlead._join_batch() returns trigger
language plpgsql security definer set search_path = pg_catalog, pg_temp set enable_seqscan = off set jit = off as $$
begin
    -- The first condition saves most who add many jobs the calls behind it.
    perform from fairlead.batches b
    where b.id = new.batch and b.completed_at is null
      and (b.created_by = session_user and not (select o.rls from fairlead.install_options o)
           or fairlead._owns_batch(b.tenant, b.created_by) or fairlead._runs_in_batch(b.id))
    for key share;
    if not found then
        raise exception 'fairlead: batch % is over, or none of this login''s: jobs join while it is open, or one of its '
                        'jobs has not ended', new.batch
            using errcode = 'FL007', schema = 'fairlead', table = 'jobs', column = 'batch';
    end if;
    insert into fairlead.batch_jobs (batch, job_id) values (new.batch, new.id);
    return null;
end $$;
-- After the INSERT: one whose dedup key is in use inserts no job. A job without a batch costs a look at a null.
create trigger jobs_join_batch after insert on fairlead.jobs
    for each row when (new.batch is not null) execute function fairlead._join_batch();

create function fairlead.close_batch(batch bigint) returns boolean
language plpgsql security definer set search_path = pg_catalog, pg_temp set enable_seqscan = off set jit = off as $$
declare
    found_batch fairlead.batches;
begin
    select b.* into found_batch from fairlead.batches b
    where b.id = close_batch.batch and fairlead._owns_batch(b.tenant, b.created_by) for no key update;
    if not found then
        return null;
    end if;
    update fairlead.batches b set open = false where b.id = found_batch.id and b.open;
    if found and found_batch.created_by is distinct from session_user then
        perform fairlead._record_audit(
            'close_batch', queue => found_batch.queue, tenant => found_batch.tenant,
            details => jsonb_build_object('batch', found_batch.id));
    end if;
    return found_batch.open;
end $$;

-- How jobs of a batch that was made at an instant have ended.
create function fairlead._count_endings(
    ids bigint[], since timestamptz, out succeeded bigint, out failed bigint, out cancelled bigint, out expired bigint,
    out unknown bigint
) language plpgsql stable set search_path = pg_catalog, pg_temp as $$
begin
    -- The newest ending, where a fail-over or a restore left several.
    select count(*) filter (where e.outcome = 'succeeded'), count(*) filter (where e.outcome = 'failed'),
           count(*) filter (where e.outcome = 'cancelled'), count(*) filter (where e.outcome = 'expired'),
           cardinality(ids) - count(*)
    into succeeded, failed, cancelled, expired, unknown
    from (
        select distinct on (h.id) h.outcome from fairlead.job_history h
        where h.id = any (ids) and h.finished_at > since - interval '1 day'
          and h.finished_at < now() + interval '1 day'
        order by h.id, h.finished_at desc, h.token desc nulls last) e;
end $$;

-- Counts of a batch, which the caller holds, jobs that have ended behind the first that has not: of the next so many.
-- Answers how many these were.
create function fairlead._count_behind(of_batch bigint, jobs_max integer) returns integer
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
    looked integer;
    reached bigint;
    ids bigint[];
    places bigint[];
begin
    select count(*), max(n.place), array_agg(n.job_id) filter (where n.ended), array_agg(n.place) filter (where n.ended)
    into looked, reached, ids, places
    from (
        select m.place, m.job_id, not exists (select from fairlead.jobs j where j.id = m.job_id offset 0) as ended
        from fairlead.batches b cross join lateral (
            select * from fairlead.batch_jobs m
            where m.batch = b.id and m.place > greatest(b.counted_to, b.looked_to) order by m.place limit jobs_max) m
        where b.id = of_batch) n;
    -- A second statement, and so a new snapshot: it has the endings of all that were gone from jobs.
    update fairlead.batches b
    set (succeeded, failed, cancelled, expired, unknown, looked_to, looked_at)
        = (select b.succeeded + e.succeeded, b.failed + e.failed, b.cancelled + e.cancelled, b.expired + e.expired,
                  b.unknown + e.unknown, case when looked = jobs_max then reached else 0 end,
                  case when looked = jobs_max then b.looked_at else now() end
           from fairlead._count_endings(coalesce(ids, '{}'), b.created_at) e)
    where b.id = of_batch;
    delete from fairlead.batch_jobs m where m.batch = of_batch and m.place = any (places);
    return looked;
end $$;

-- Counts of a batch, which the caller holds, the next jobs that have ended, at most so many and up to the first that has
-- not; inserts the completion's job if that were all. Answers how many it counted, and whether the batch is over;
-- null: the completion's job could not be inserted.
create function fairlead._count_batch(batch fairlead.batches, jobs_max integer, out counted integer, out over boolean)
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
    first_unfinished bigint;
    ids bigint[];
    reached bigint;
    known fairlead.batches := batch;
    made bigint;
    said text;
begin
    counted := 0;
    over := false;
    select n.place into first_unfinished
    from (select m.place, m.job_id from fairlead.batch_jobs m
          where m.batch = known.id and m.place > known.counted_to order by m.place limit jobs_max) n
    where exists (select from fairlead.jobs j where j.id = n.job_id offset 0)
    order by n.place limit 1;
    select array_agg(n.job_id), max(n.place) into ids, reached
    from (select m.place, m.job_id from fairlead.batch_jobs m
          where m.batch = known.id and m.place > known.counted_to
            and m.place < coalesce(first_unfinished, 9223372036854775807)
          order by m.place limit jobs_max) n;
    if ids is not null then
        counted := cardinality(ids);
        select known.succeeded + e.succeeded, known.failed + e.failed, known.cancelled + e.cancelled,
               known.expired + e.expired, known.unknown + e.unknown
        into known.succeeded, known.failed, known.cancelled, known.expired, known.unknown
        from fairlead._count_endings(ids, known.created_at) e;
        delete from fairlead.batch_jobs m
        where m.batch = known.id and m.place > known.counted_to and m.place <= reached;
        known.counted_to := reached;
        update fairlead.batches b
        set (succeeded, failed, cancelled, expired, unknown, counted_to)
            = (known.succeeded, known.failed, known.cancelled, known.expired, known.unknown, known.counted_to)
        where b.id = known.id;
    end if;
    if known.open or exists (
        select from fairlead.batch_jobs m where m.batch = known.id and m.place > known.counted_to)
    then
        return;
    end if;
    begin
        insert into fairlead.jobs (
            queue, tenant, kind, payload, priority, max_attempts, timeout, headers, enqueued_by)
        values (known.queue, known.tenant, known.kind, known.payload || jsonb_build_object(
                    'batch', jsonb_build_object(
                        'id', known.id,
                        'jobs', known.succeeded + known.failed + known.cancelled + known.expired + known.unknown,
                        'succeeded', known.succeeded, 'failed', known.failed, 'cancelled', known.cancelled,
                        'expired', known.expired, 'unknown', known.unknown)),
                known.priority, known.max_attempts, known.timeout, known.headers, known.created_by)
        returning id into made;
    exception when others then
        -- Such as a full backlog. It keeps no other batch from its end.
        get stacked diagnostics said = message_text;
        update fairlead.batches b set problem = left(said, 300)
        where b.id = known.id and b.problem is distinct from left(said, 300);
        over := null;
        return;
    end;
    update fairlead.batches b
    set completed_at = clock_timestamp(), completion_job = made, payload = '{}', headers = null, problem = null
    where b.id = known.id;
    over := true;
end $$;

-- Looks, as a leader, at the next batches behind an id that are not over, and counts those that can be counted further,
-- until it has counted so many jobs. Answers how many were over, of how many the completion's job could not be
-- inserted, whether there is more to do at once, and behind which id to go on, null at the end. A repeat, whoever makes
-- it, goes on where the last one that was committed has stopped: what is counted, the notes that are deleted and the
-- completion's job are of one transaction.
--
-- A batch that somebody holds, since jobs are being added, has its turn later. The next statement has a snapshot of its
-- own, which has what was added until the batch was held.
create function fairlead._settle_batches(
    my_epoch bigint, after_id bigint, batches_max integer, jobs_max integer, open_days integer,
    out completed integer, out refused integer, out more boolean, out reached_id bigint
) language plpgsql security definer set search_path = pg_catalog, pg_temp set enable_seqscan = off
set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off
set plan_cache_mode = force_generic_plan set jit = off as $$
declare
    of_one_max constant integer := least(jobs_max, 1000);
    behind_every constant interval := '6 hours';
    due bigint[];
    one bigint;
    held fairlead.batches;
    done record;
    behind integer;
    budget integer := jobs_max;
begin
    completed := 0;
    refused := 0;
    more := false;
    perform fairlead._require_read_committed();
    with looked as materialized (
        select b.id, b.open and b.created_at > now() - make_interval(days => open_days) as waits, m.job_id,
               b.looked_at < now() - behind_every as is_slow
        from fairlead.batches b
        left join lateral (
            select n.job_id from fairlead.batch_jobs n
            where n.batch = b.id and n.place > b.counted_to order by n.place limit 1) m on true
        where b.completed_at is null and b.id > _settle_batches.after_id
        order by b.id limit batches_max
    )
    select array_agg(l.id order by l.id) filter (where case
               when l.job_id is null then not l.waits
               else l.is_slow or not exists (select from fairlead.jobs j where j.id = l.job_id offset 0) end),
           case when count(*) >= batches_max then max(l.id) end
    into due, reached_id from looked l;
    if due is null or not fairlead._leads(my_epoch) then
        return;
    end if;
    foreach one in array due loop
        if budget <= 0 then
            -- More of the same: but not where nothing can be done about any of them.
            more := more or completed > 0;
            reached_id := one - 1;
            return;
        end if;
        select b.* into held from fairlead.batches b
        where b.id = one and b.completed_at is null for update skip locked;
        continue when not found;
        select c.counted, c.over into done from fairlead._count_batch(held, of_one_max) c;
        -- A batch costs about as much as 20 jobs.
        budget := budget - done.counted - 20;
        more := more or done.counted = of_one_max;
        if done.over then
            completed := completed + 1;
            continue;
        elsif done.over is null then
            refused := refused + 1;
            continue;
        elsif held.looked_at < now() - behind_every then
            behind := fairlead._count_behind(one, of_one_max);
            budget := budget - behind;
            more := more or behind = of_one_max;
        end if;
        if held.open and held.created_at <= now() - make_interval(days => open_days) then
            update fairlead.batches b set completed_at = clock_timestamp(), payload = '{}', headers = null
            where b.id = one and b.completed_at is null and not exists (
                select from fairlead.batch_jobs m where m.batch = one and m.place > b.counted_to);
        end if;
    end loop;
end $$;

-- Deletes up to so many notes of a batch that is over; answers how many there were.
create function fairlead._forget_batch_jobs(of_batch bigint, jobs_max integer) returns integer
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
    deleted integer;
begin
    delete from fairlead.batch_jobs m
    where m.batch = of_batch and m.place = any (array(
        select n.place from fairlead.batch_jobs n where n.batch = of_batch order by n.place limit jobs_max));
    get diagnostics deleted = row_count;
    return deleted;
end $$;

-- Deletes, as a leader, batches that were over so many days ago, oldest first; answers how many rows it deleted.
create function fairlead._forget_batches(my_epoch bigint, days integer, rows_max integer) returns integer
language plpgsql security definer set search_path = pg_catalog, pg_temp set enable_seqscan = off
set enable_bitmapscan = off set jit = off as $$
declare
    most constant integer := least(greatest(rows_max, 0), 10000);
    old bigint;
    deleted integer := 0;
begin
    if not fairlead._leads(my_epoch) then
        return 0;
    end if;
    for old in
        select b.id from fairlead.batches b
        where b.completed_at < now() - make_interval(days => _forget_batches.days)
        order by b.completed_at limit most for update skip locked
    loop
        deleted := deleted + fairlead._forget_batch_jobs(old, most - deleted);
        exit when deleted >= most;
        delete from fairlead.batches b where b.id = old;
        deleted := deleted + 1;
        exit when deleted >= most;
    end loop;
    return deleted;
end $$;

-- Deletes batches of a tenant behind an id, after which they complete no more; answers how many, and the id to go on
-- behind, null at the end.
create function fairlead._erase_batches(
    tenant text, after_id bigint, batches_max integer, out batches integer, out reached_id bigint
) language plpgsql security definer set search_path = pg_catalog, pg_temp set enable_seqscan = off
set enable_bitmapscan = off set jit = off as $$
declare
    rows_max constant integer := 10000;
    one bigint;
    deleted integer := 0;
begin
    if not fairlead._sees(_erase_batches.tenant) then
        raise exception 'fairlead: this login may erase its own tenant only'
            using errcode = 'insufficient_privilege';
    end if;
    batches := 0;
    reached_id := coalesce(after_id, 0);
    for one in
        select b.id from fairlead.batches b
        where b.tenant = _erase_batches.tenant and b.id > reached_id
        order by b.id limit least(greatest(batches_max, 0), 1000) for update
    loop
        update fairlead.batches b
        set completed_at = coalesce(b.completed_at, clock_timestamp()), payload = '{}', headers = null
        where b.id = one;
        deleted := deleted + fairlead._forget_batch_jobs(one, rows_max - deleted);
        exit when deleted >= rows_max;
        delete from fairlead.batches b where b.id = one;
        batches := batches + 1;
        reached_id := one;
    end loop;
    if batches > 0 then
        perform fairlead._record_audit(
            'erase_tenant', queue => '', tenant => _erase_batches.tenant,
            details => jsonb_build_object('batches', batches));
    end if;
    if batches = 0 and deleted = 0 then
        reached_id := null;
    end if;
end $$;
