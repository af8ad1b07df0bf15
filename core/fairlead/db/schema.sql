-- What all migrations amount to. Written by `python -m docs.generate`, with pg_dump.


CREATE SCHEMA fairlead;

CREATE FUNCTION fairlead._acquire_leadership(my_name text, lease_seconds double precision, my_release text, OUT epoch bigint, OUT fault text) RETURNS record
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
declare
    former integer;
begin
    perform fairlead._check_leader(my_name, lease_seconds);
    fault := fairlead._leader_fault('scheduler');
    if fault is not null then
        return;
    end if;
    select l.timeline into former from fairlead.leaders l where l.role = 'scheduler';
    update fairlead.leaders l
    set holder = my_name, login = session_user, epoch = fairlead._next_epoch(l.epoch, l.timeline),
        timeline = fairlead._timeline(), taken_at = now(), lease_until = now() + make_interval(secs => lease_seconds)
    where l.role = 'scheduler' and (l.lease_until < now() or l.holder = my_name and fairlead._acts_for(l.login))
      and l.release in ('', my_release)
    returning l.epoch into _acquire_leadership.epoch;
    if found then
        perform fairlead._end_notifications();
    end if;
    -- pg_upgrade and a restored dump begin at the first timeline again. Tokens go on growing from where they were.
    if epoch is not null and former > fairlead._timeline() then
        perform setval('fairlead.tokens', nextval('fairlead.tokens')
                                          + (former - fairlead._timeline()) * 1000000000000);
    end if;
end $$;

CREATE FUNCTION fairlead._acts_for(login name) RETURNS boolean
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
begin
    return coalesce(login = session_user, false)
        or coalesce(pg_has_role(session_user, to_regrole(quote_ident(login)), 'member'), false)
        or fairlead._administers();
end $$;

CREATE FUNCTION fairlead._is_member(of_role text) RETURNS boolean
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
begin
    return exists (select from pg_roles where rolname = of_role)
       and pg_has_role(session_user, of_role, 'member');
end $$;

CREATE FUNCTION fairlead._administers() RETURNS boolean
    LANGUAGE sql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    BEGIN ATOMIC
 SELECT ((SESSION_USER = ( SELECT pg_get_userbyid(n.nspowner) AS pg_get_userbyid
            FROM pg_namespace n
           WHERE (n.nspname = 'fairlead'::name))) OR ( SELECT r.rolsuper
            FROM pg_roles r
           WHERE (r.rolname = SESSION_USER)) OR fairlead._is_member('fairlead_admin'::text));
END;

CREATE FUNCTION fairlead._administrators() RETURNS text[]
    LANGUAGE sql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    BEGIN ATOMIC
 SELECT array_agg((r.rolname)::text) AS array_agg
    FROM pg_roles r,
     pg_namespace n
   WHERE ((n.nspname = 'fairlead'::name) AND (pg_has_role(r.oid, n.nspowner, 'member'::text) OR pg_has_role(r.oid, (to_regrole('fairlead_admin'::text))::oid, 'member'::text)));
END;

CREATE FUNCTION fairlead._admit_batch() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    SET jit TO 'off'
    AS $$
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

CREATE FUNCTION fairlead._admit_job() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    AS $$
begin
    if not fairlead._is_ordinary(
        new.queue, new.tenant, new.kind, new.priority, new.max_attempts, new.payload, new.retry_of, new.run_at,
        new.expires_at, new.timeout, new.cost_hint, new.dedup_key, new.headers) then
        new := fairlead._admit_unusual(new);
    end if;
    return new;
end $$;

CREATE FUNCTION fairlead._admit_schedule() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
declare
    payload_text constant text := new.payload::text;
    payload_bytes constant integer := octet_length(payload_text);
    broken constant text := case
        when payload_bytes > 1048576
             or payload_bytes > 4000 and fairlead._has_huge_number(new.payload, payload_text)
        then 'schedules_payload_is_at_most_1_mib_and_numbers_below_1e4000'
        when payload_bytes > 1000 and fairlead._is_too_deep(new.payload, payload_text)
        then 'schedules_payload_is_nested_at_most_500_deep'
    end;
begin
    if broken is not null then
        raise check_violation using
            message = format('new row for relation "schedules" violates check constraint "%s"', broken),
            detail = format('payload is %s bytes of JSON.', payload_bytes),
            schema = 'fairlead', table = 'schedules', column = 'payload', constraint = broken;
    end if;
    return new;
end $$;

CREATE SEQUENCE fairlead.places
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;

COMMENT ON SEQUENCE fairlead.places IS 'Places in the lanes; a job that comes back draws a new one.';

CREATE TABLE fairlead.jobs (
    id bigint NOT NULL,
    seq bigint DEFAULT nextval('fairlead.places'::regclass) NOT NULL,
    run_at timestamp with time zone,
    expires_at timestamp with time zone,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    due_at timestamp with time zone,
    cancel_requested_at timestamp with time zone,
    retry_of bigint,
    max_attempts integer,
    attempts integer DEFAULT 0 NOT NULL,
    crashes integer DEFAULT 0 NOT NULL,
    losses integer DEFAULT 0 NOT NULL,
    lone_deaths integer DEFAULT 0 NOT NULL,
    priority smallint DEFAULT 0 NOT NULL,
    rank smallint GENERATED ALWAYS AS ((- priority)) STORED NOT NULL,
    suspect boolean DEFAULT false NOT NULL,
    queue text DEFAULT 'default'::text NOT NULL COLLATE pg_catalog."C",
    tenant text DEFAULT ''::text NOT NULL COLLATE pg_catalog."C",
    kind text NOT NULL COLLATE pg_catalog."C",
    payload jsonb DEFAULT '{}'::jsonb NOT NULL,
    timeout interval,
    cost_hint interval,
    dedup_key text COLLATE pg_catalog."C",
    headers jsonb,
    last_error text,
    checkpoint text,
    enqueued_by text DEFAULT SESSION_USER COLLATE pg_catalog."C",
    batch bigint
)
WITH (autovacuum_vacuum_scale_factor='0', autovacuum_vacuum_threshold='5000', autovacuum_vacuum_insert_scale_factor='0', autovacuum_vacuum_insert_threshold='100000', autovacuum_analyze_scale_factor='0', autovacuum_analyze_threshold='50000', autovacuum_vacuum_cost_delay='0');
ALTER TABLE ONLY fairlead.jobs ALTER COLUMN queue SET STATISTICS 0;
ALTER TABLE ONLY fairlead.jobs ALTER COLUMN tenant SET STATISTICS 0;
ALTER TABLE ONLY fairlead.jobs ALTER COLUMN payload SET STATISTICS 0;
ALTER TABLE ONLY fairlead.jobs ALTER COLUMN dedup_key SET STATISTICS 0;
ALTER TABLE ONLY fairlead.jobs ALTER COLUMN headers SET STATISTICS 0;
ALTER TABLE ONLY fairlead.jobs ALTER COLUMN last_error SET STATISTICS 0;
ALTER TABLE ONLY fairlead.jobs ALTER COLUMN checkpoint SET STATISTICS 0;

COMMENT ON TABLE fairlead.jobs IS 'Unfinished jobs. Applications insert rows here; their endings stand in job_history.';

COMMENT ON COLUMN fairlead.jobs.seq IS 'The place in the lane.';

COMMENT ON COLUMN fairlead.jobs.run_at IS 'Not before this instant; null is now.';

COMMENT ON COLUMN fairlead.jobs.expires_at IS 'Ends as expired when it has not started by then.';

COMMENT ON COLUMN fairlead.jobs.due_at IS 'When a delayed or retried job fell due.';

COMMENT ON COLUMN fairlead.jobs.retry_of IS 'The finished job that this one repeats.';

COMMENT ON COLUMN fairlead.jobs.max_attempts IS 'Failures until the job has failed for good; null is 20.';

COMMENT ON COLUMN fairlead.jobs.attempts IS 'Attempts that ended without ending the job.';

COMMENT ON COLUMN fairlead.jobs.crashes IS 'Deaths of the process that ran it, beside others.';

COMMENT ON COLUMN fairlead.jobs.losses IS 'Times that its whole worker was lost.';

COMMENT ON COLUMN fairlead.jobs.lone_deaths IS 'Deaths while it ran alone; they lead to quarantine.';

COMMENT ON COLUMN fairlead.jobs.priority IS 'Order inside the tenant''s lane, higher first; where the policy has bands, which of them too.';

COMMENT ON COLUMN fairlead.jobs.suspect IS 'Runs alone next: a process died with it, and no attempt alone has ended well since.';

COMMENT ON COLUMN fairlead.jobs.queue IS 'The queue; a queue belongs to exactly one pool of workers.';

COMMENT ON COLUMN fairlead.jobs.tenant IS 'Whose job it is: tenants of a queue share it fairly.';

COMMENT ON COLUMN fairlead.jobs.kind IS 'The name of the handler that runs it.';

COMMENT ON COLUMN fairlead.jobs.payload IS 'Any JSON value, at most 1 MiB as text.';

COMMENT ON COLUMN fairlead.jobs.timeout IS 'The budget of one attempt; null is the pool''s default.';

COMMENT ON COLUMN fairlead.jobs.cost_hint IS 'How long an attempt will take, where known.';

COMMENT ON COLUMN fairlead.jobs.dedup_key IS 'At most one unfinished job per queue, tenant and key; insert with ON CONFLICT DO NOTHING.';

COMMENT ON COLUMN fairlead.jobs.headers IS 'Trace context and the like, at most 8 KiB.';

COMMENT ON COLUMN fairlead.jobs.checkpoint IS 'What its handler goes on from, as JSON: its last checkpoint.';

COMMENT ON COLUMN fairlead.jobs.enqueued_by IS 'The login that inserted it, or made the schedule that did; a repeat has that of its original.';

COMMENT ON COLUMN fairlead.jobs.batch IS 'The batch that it joins, which is not over and is the login''s own; a worker''s login may also add to those of which it runs a job.';

CREATE FUNCTION fairlead._admit_unusual(job fairlead.jobs) RETURNS fairlead.jobs
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
begin
    declare
        -- The size is that of the text, since that is what a claim returns: 1e131071 takes 20 bytes stored.
        payload_text text := job.payload::text;
        headers_text text := job.headers::text;
        payload_bytes integer := octet_length(payload_text);
        headers_bytes integer := octet_length(headers_text);
        broken text := case
            when octet_length(job.queue) not between 1 and 128
            then 'jobs_queue_is_1_to_128_bytes'
            when octet_length(job.tenant) > 128
            then 'jobs_tenant_is_at_most_128_bytes'
            when octet_length(job.kind) not between 1 and 128
            then 'jobs_kind_is_1_to_128_bytes'
            when payload_bytes > 1048576
                 or payload_bytes > 4000 and fairlead._has_huge_number(job.payload, payload_text)
            then 'jobs_payload_is_at_most_1_mib_and_its_numbers_below_1e4000'
            when payload_bytes > 1000 and fairlead._is_too_deep(job.payload, payload_text)
            then 'jobs_payload_is_nested_at_most_500_deep'
            when jsonb_typeof(job.headers) <> 'object' or headers_bytes > 8192
            then 'jobs_headers_are_an_object_of_at_most_8_kib'
            when headers_bytes > 1000 and (fairlead._is_too_deep(job.headers, headers_text)
                                           or fairlead._has_huge_number(job.headers, headers_text))
            then 'jobs_headers_are_nested_at_most_500_deep_numbers_below_1e4000'
            when octet_length(job.dedup_key) not between 1 and 256
            then 'jobs_dedup_key_is_1_to_256_bytes'
            when job.priority not between -100 and 100
            then 'jobs_priority_is_between_minus_100_and_100'
            when job.max_attempts not between 1 and 1000
            then 'jobs_max_attempts_is_between_1_and_1000'
            when job.timeout not between interval '1 millisecond' and interval '30 days'
            then 'jobs_timeout_is_between_1_ms_and_30_days'
            when job.cost_hint not between interval '1 microsecond' and interval '30 days'
            then 'jobs_cost_hint_is_between_1_us_and_30_days'
            when job.run_at < '1970-01-01 00:00+00' or job.run_at >= '9999-01-01 00:00+00'
            then 'jobs_run_at_is_between_1970_and_9999'
            when job.expires_at < '1970-01-01 00:00+00' or job.expires_at >= '9999-01-01 00:00+00'
            then 'jobs_expires_at_is_between_1970_and_9999'
        end;
        field text := substring(broken from '^jobs_(.+?)_(?:is|are)_');
    begin
        if broken is not null then
            raise check_violation using
                message = format('new row for relation "jobs" violates check constraint "%s"', broken),
                detail = format('%s is %s.', field, case field
                    when 'payload' then payload_bytes || ' bytes of JSON'
                    when 'headers' then headers_bytes || ' bytes of JSON'
                    else quote_literal(left(to_jsonb(job) ->> field, 300)) end),
                schema = 'fairlead', table = 'jobs', column = field, constraint = broken;
        end if;
    end;
    if pg_sequence_last_value('fairlead.backlog_gate')
       & (fairlead._backlog_bit(job.queue)
          | fairlead._backlog_bit(job.queue || '/' || job.tenant)) <> 0 then
        perform fairlead._has_room(job.queue, job.tenant, job.dedup_key, job.retry_of);
    end if;
    -- One that is due already is pending at once: it would wait for a promotion otherwise.
    if job.run_at <= now() then
        job.due_at := job.run_at;
        job.run_at := null;
    end if;
    return job;
end $$;

CREATE FUNCTION fairlead._assign_pool(pool text, release text) RETURNS text
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
declare
    former text;
begin
    delete from fairlead.pool_owners p where p.pool = _assign_pool.pool returning p.release into former;
    if _assign_pool.release <> '' then
        insert into fairlead.pool_owners (pool, release) values (_assign_pool.pool, _assign_pool.release);
    end if;
    if _assign_pool.release is distinct from coalesce(former, '') then
        perform fairlead._record_audit('assign_pool', details => jsonb_build_object(
            'pool', _assign_pool.pool, 'from', former, 'to', _assign_pool.release));
    end if;
    return former;
end $$;

CREATE FUNCTION fairlead._attempts_of(max_attempts integer, kind text, worker bigint) RETURNS integer
    LANGUAGE sql STABLE
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET enable_seqscan TO 'off'
    SET jit TO 'off'
    AS $_$
    select least(greatest(coalesce(max_attempts, (
        select a.max_attempts from fairlead.announced_kinds a where a.worker = $3 and a.kind = $2), 20), 1), 1000)
$_$;

CREATE FUNCTION fairlead._audit_changed_schedules() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
begin
    perform fairlead._record_schedules(
        'change_schedule', array_agg(c.tenant order by c.tenant, c.name),
        array_agg(c.name order by c.tenant, c.name), array_agg(c.queue),
        jsonb_build_object('changed', (
            select array_agg(distinct k.key order by k.key)
            from jsonb_array_elements(jsonb_agg(to_jsonb(c.keys))) a, jsonb_array_elements_text(a) k (key)))
        || case when min(c.enabled::integer) = max(c.enabled::integer)
                then jsonb_build_object('enabled', bool_and(c.enabled)) else '{}' end)
    from (
        select n.tenant, n.name, n.queue, n.enabled, array(
                   select e.key from jsonb_each(to_jsonb(n)) e
                   where e.key not in ('considered_until', 'problem', 'changes')
                     and e.value is distinct from to_jsonb(o) -> e.key order by e.key) as keys
        from changed n left join former o using (tenant, name)
        where n.changes is distinct from o.changes
          and (n.cron, n.timezone, n.missed, n.enabled, n.queue, n.kind, n.payload, n.priority, n.max_attempts,
               n.timeout, n.expires_in, n.headers, n.created_by)
              is distinct from (o.cron, o.timezone, o.missed, o.enabled, o.queue, o.kind, o.payload, o.priority,
                                o.max_attempts, o.timeout, o.expires_in, o.headers, o.created_by)) c
    having count(*) > 0;
    return null;
end $$;

CREATE FUNCTION fairlead._audit_logins() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
begin
    perform fairlead._record_audit(
        tg_argv[0],
        tenant => case when min(b.tenant) = max(b.tenant) then min(b.tenant) end,
        details => jsonb_build_object(
            'of', tg_table_name, 'rows', count(*), 'pairs', array_agg(b.pair order by b.pair)))
    from (
        select p.tenant, p.pair, (row_number() over (order by p.pair) - 1) / 100 as hundred
        from (
            select r.line ->> 'tenant' as tenant,
                   concat(r.line ->> 'login', ': ', coalesce(r.line ->> 'tenant', r.line ->> 'pool')) as pair
            from (select to_jsonb(c) from changed c) r (line)) p) b
    group by b.hundred order by b.hundred;
    return null;
end $$;

CREATE FUNCTION fairlead._audit_policy_source() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
begin
    perform fairlead._record_audit('move_policy', details => jsonb_build_object(
        'from', concat_ws(' ', old.policy_source, nullif(old.policy_place, '')),
        'to', concat_ws(' ', new.policy_source, nullif(new.policy_place, ''))));
    return null;
end $$;

CREATE FUNCTION fairlead._audit_schedules() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
declare
    verb constant text := case tg_op when 'INSERT' then 'add_schedule' else 'remove_schedule' end;
begin
    perform fairlead._record_schedules(
        verb, array_agg(c.tenant order by c.tenant, c.name), array_agg(c.name order by c.tenant, c.name),
        array_agg(c.queue))
    from changed c having count(*) > 0;
    return null;
end $$;

CREATE FUNCTION fairlead._audit_stays() RETURNS trigger
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
begin
    raise exception 'fairlead: entries of the audit log stay as they are, for 30 days at least'
        using errcode = 'insufficient_privilege';
end $$;

CREATE FUNCTION fairlead._autoscaler_leads(my_epoch bigint) RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
begin
    perform from fairlead.leaders l
    where l.role = 'autoscaler' and l.epoch = my_epoch and l.timeline = fairlead._timeline() for share;
    return found;
end $$;

CREATE FUNCTION fairlead._await_ending(job_id bigint) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
declare
    awaited_until constant timestamptz := clock_timestamp() + interval '20 seconds';
begin
    if not exists (
        select from fairlead.jobs j
        where j.id = _await_ending.job_id
          and (fairlead._reads_all() or fairlead._owns(j.tenant, j.enqueued_by))
    ) then
        return;
    end if;
    delete from fairlead.waits w
    where w.ctid = any (array(
        select o.ctid from fairlead.waits o where o.until < clock_timestamp()
        order by o.until limit 100 for update skip locked));
    insert into fairlead.waits (job_id, until)
    select _await_ending.job_id, awaited_until
    where not exists (
        select from fairlead.waits w
        where w.job_id = _await_ending.job_id and w.until > clock_timestamp() + interval '10 seconds');
    perform setval('fairlead.awaited_until', greatest(
        ceil(date_part('epoch', awaited_until))::bigint,
        coalesce(pg_sequence_last_value('fairlead.awaited_until'), 1)));
end $$;

CREATE FUNCTION fairlead._awaited() RETURNS TABLE(queue text, paused boolean)
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    SET enable_mergejoin TO 'off'
    SET enable_sort TO 'off'
    SET plan_cache_mode TO 'force_generic_plan'
    SET jit TO 'off'
    AS $$
#variable_conflict use_column
begin
    return query
    with recursive named as (
        (select j.queue from fairlead.jobs j where j.run_at is null order by j.queue limit 1)
        union all
        select n.queue from named q cross join lateral (
            select j.queue from fairlead.jobs j
            where j.run_at is null and j.queue > q.queue order by j.queue limit 1) n
    )
    select q.queue, exists (select from fairlead.paused p where p.queue = q.queue)
    from named q limit 10;
end $$;

CREATE FUNCTION fairlead._backlog_bit(lane text) RETURNS bigint
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN ((1)::bigint << (((hashtextextended(lane, (0)::bigint) & '9223372036854775807'::bigint) % (62)::bigint))::integer);

CREATE FUNCTION fairlead._backoff(failures integer) RETURNS interval
    LANGUAGE sql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
    select interval '1 second' * ((0.5 + random()) * least(28800, 2.0 ^ (1 + least(greatest(failures, 0), 14))))
$$;

CREATE FUNCTION fairlead._begin_autoscaler_epoch(my_name text, my_release text) RETURNS bigint
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
declare
    fault constant text := fairlead._leader_fault('autoscaler');
    begun bigint;
begin
    perform fairlead._check_leader(my_name, 1);
    if fault is not null then
        raise exception 'fairlead: the autoscaler cannot lead: in fairlead.leaders %: an administrator mends it '
                        'with "select fairlead.reset_leadership()"', fault
            using errcode = 'FL006';
    end if;
    update fairlead.leaders l
    set holder = my_name, epoch = fairlead._next_epoch(l.epoch, l.timeline), timeline = fairlead._timeline(),
        taken_at = now(), lease_until = 'infinity'
    where l.role = 'autoscaler' and l.release in ('', my_release) returning l.epoch into begun;
    return begun;
end $$;

CREATE FUNCTION fairlead._begin_in_quarantine(of_job bigint, of_token bigint) RETURNS TABLE(job_id bigint, token bigint, queue text, tenant text, kind text, payload text, headers text, attempt integer, max_attempts integer, timeout_seconds double precision, timeout_max_seconds double precision, alone boolean, waited_seconds double precision, doomed text, checkpoint text, died_alone boolean)
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    SET enable_mergejoin TO 'off'
    SET enable_sort TO 'off'
    SET plan_cache_mode TO 'force_generic_plan'
    SET jit TO 'off'
    AS $$
#variable_conflict use_column
declare
    own constant bigint[] := fairlead._own(array[of_job], array[of_token]);
begin
    return query
    with begun as (
        update fairlead.work_queue q
        set alone = true, deadline = greatest(q.deadline, fairlead._deadline(q.timeout))
        where q.job_id = of_job and q.token = any (own)
        returning q.job_id, q.token, q.queue, q.tenant, q.runnable_at, q.timeout, q.timeout_max, q.alone
    )
    select b.job_id, b.token, b.queue, b.tenant, j.kind, j.payload, j.headers, fairlead._one_more(j.attempts),
           coalesce(j.max_attempts, 0), extract(epoch from b.timeout)::float8,
           extract(epoch from b.timeout_max)::float8, b.alone,
           (fairlead._epoch_us(now()) - fairlead._epoch_us(b.runnable_at)) / 1e6::float8,
           case when j.id is null then 'gone'
                when j.cancel_requested_at is not null then 'cancelled'
                when j.expires_at <= now() then 'expired' end, j.checkpoint,
           coalesce(j.lone_deaths, 0) > 0
    from begun b
    left join lateral (
        select j.id, j.kind, j.payload::text as payload, j.headers::text as headers, j.attempts,
               j.max_attempts, j.cancel_requested_at, j.expires_at, j.lone_deaths, j.checkpoint
        from fairlead.jobs j where j.id = b.job_id offset 0) j on true;
end $$;

CREATE FUNCTION fairlead._begin_schedule_anew() RETURNS trigger
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
begin
    new.considered_until := clock_timestamp();
    new.problem := null;
    return new;
end $$;

CREATE FUNCTION fairlead._bytes_at_once() RETURNS bigint
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN 16777216;

CREATE FUNCTION fairlead._cancel_jobs(queue text, tenant text, kind text, after_id bigint, jobs_max integer, OUT ended integer, OUT requested integer, OUT locked integer, OUT reached_id bigint, OUT taken_bytes bigint) RETURNS record
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET enable_seqscan TO 'off'
    SET jit TO 'off'
    SET enable_bitmapscan TO 'off'
    SET enable_indexscan TO 'on'
    SET enable_tidscan TO 'on'
    AS $$
declare
    looked_max constant integer := 10000;
    owns_all constant boolean := fairlead._owns_all();
    by_tenant constant boolean := (select o.rls from fairlead.install_options o);
    wanted integer := least(greatest(_cancel_jobs.jobs_max, 0), looked_max);
    ids bigint[];
    sizes bigint[];
    fitting integer;
    running bigint[];
    asked bigint[];
begin
    perform fairlead._require_read_committed();
    if coalesce(_cancel_jobs.queue, _cancel_jobs.tenant, _cancel_jobs.kind) is null then
        raise exception 'fairlead: name a queue, a tenant or a kind whose jobs to cancel'
            using errcode = 'null_value_not_allowed';
    end if;
    ended := 0;
    requested := 0;
    with looked as materialized (
        select j.id, j.queue, j.tenant, j.kind, j.enqueued_by, j.cancel_requested_at,
               fairlead._stored_bytes(j.payload, j.headers, j.last_error) as bytes
        from fairlead.jobs j
        where j.id > coalesce(_cancel_jobs.after_id, 0) order by j.id limit looked_max
    ), alike as materialized (
        select l.id, l.tenant, l.enqueued_by, l.bytes from looked l
        where (l.cancel_requested_at is null or not exists (
                  select from fairlead.work_queue q where q.job_id = l.id and q.worker is not null offset 0))
          and (_cancel_jobs.queue is null or l.queue = _cancel_jobs.queue)
          and (_cancel_jobs.tenant is null or l.tenant = _cancel_jobs.tenant)
          and (_cancel_jobs.kind is null or l.kind = _cancel_jobs.kind)
    ), picked as materialized (
        select a.id, a.bytes from alike a
        where case when owns_all then true
                   when by_tenant then a.tenant in (
                       select t.tenant from fairlead.tenant_logins t where t.login = session_user)
                   else a.enqueued_by = session_user end
        order by a.id limit wanted
    )
    select p.ids, p.sizes, case when p.many >= wanted then p.last
                       when (select count(*) from looked) = looked_max then (select max(l.id) from looked l) end
    into ids, sizes, reached_id
    from (select coalesce(array_agg(k.id), '{}') as ids, array_agg(k.bytes) as sizes, count(*) as many,
                 max(k.id) as last from picked k) p;

    fitting := fairlead._fitting(sizes);
    if fitting < cardinality(ids) then
        reached_id := ids[fitting];
        ids := ids[:fitting];
    end if;
    locked := cardinality(ids);
    select coalesce(array_agg(f.id), '{}'), coalesce(sum(f.bytes), 0) into ids, taken_bytes
    from (
        select j.id, fairlead._stored_bytes(j.payload, j.headers, j.last_error) as bytes
        from fairlead.jobs j where j.id = any (ids) order by j.id for update skip locked) f;
    locked := locked - cardinality(ids);

    -- A new snapshot: a dispatch that held some of them is visible now. A row that is locked is being claimed.
    select coalesce(array_agg(q.job_id order by q.job_id), '{}') into running
    from fairlead.work_queue q
    where q.job_id = any (ids)
      and not q.job_id = any (array(
          select f.job_id from fairlead.work_queue f
          where f.job_id = any (ids) and f.worker is null for update skip locked));
    if cardinality(ids) = 0 then
        return;
    end if;
    with asked as (
        update fairlead.jobs j set cancel_requested_at = clock_timestamp()
        where j.id = any (running) and j.cancel_requested_at is null returning j.id
    )
    select coalesce(array_agg(a.id), '{}') into asked from asked a;
    requested := cardinality(asked);
    perform fairlead._notify('fairlead_cancel', a.id::text) from unnest(asked) a (id);
    ids := array(select i.id from unnest(ids) i (id) where not i.id = any (running));
    ended := cardinality(ids);
    perform fairlead._end_unstarted(ids, 'cancelled') where ended > 0;
    perform fairlead._record_audit(
        'cancel_jobs', queue => coalesce(_cancel_jobs.queue, ''), tenant => _cancel_jobs.tenant,
        details => jsonb_strip_nulls(jsonb_build_object(
            'kind', _cancel_jobs.kind, 'ended', ended, 'asked to stop', requested)))
    where ended + requested > 0;
end $$;

CREATE FUNCTION fairlead._epoch_us(at timestamp with time zone) RETURNS bigint
    LANGUAGE sql STABLE PARALLEL SAFE
    RETURN CASE WHEN (at IS NOT NULL) THEN (LEAST(GREATEST((date_part('epoch'::text, at) * ('1000000'::numeric)::double precision), (0)::double precision), ('253370764800000000'::bigint)::double precision))::bigint ELSE NULL::bigint END;

CREATE FUNCTION fairlead._charged_us(run_us bigint, claimed_at timestamp with time zone) RETURNS bigint
    LANGUAGE sql STABLE PARALLEL SAFE
    RETURN LEAST(GREATEST(COALESCE(run_us, '9223372036854775807'::bigint), (0)::bigint), GREATEST((fairlead._epoch_us(statement_timestamp()) - fairlead._epoch_us(claimed_at)), (0)::bigint));

CREATE FUNCTION fairlead._check_array(name text, said anyarray, most integer, nulls boolean) RETURNS void
    LANGUAGE plpgsql IMMUTABLE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
begin
    if not fairlead._is_list(said) or cardinality(said) > most
       or not nulls and array_position(said, null) is not null
    then
        raise exception 'fairlead: % must be a list of at most % values%', name, to_char(most, 'FM999,999,999'),
            case when nulls then '' else ', none of them null' end using errcode = 'check_violation';
    end if;
end $$;

CREATE FUNCTION fairlead._check_checkpoint(value jsonb) RETURNS void
    LANGUAGE plpgsql STABLE
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET jit TO 'off'
    AS $_$
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
end $_$;

CREATE FUNCTION fairlead._check_kinds(kinds text[], most integer) RETURNS void
    LANGUAGE plpgsql IMMUTABLE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
begin
    perform fairlead._check_array('kinds', kinds, most, false);
    if exists (select from unnest(kinds) as s (kind) where octet_length(s.kind) > 128) then
        raise exception 'fairlead: a kind must be at most 128 bytes' using errcode = 'check_violation';
    end if;
end $$;

CREATE FUNCTION fairlead._check_leader(my_name text, lease_seconds double precision) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
begin
    if not coalesce(octet_length(my_name) between 1 and 512, false) then
        raise invalid_parameter_value using message =
            'fairlead: a leader''s name has 1 to 512 bytes';
    end if;
    if not coalesce(lease_seconds between 0.1 and 60, false) then
        raise invalid_parameter_value using message =
            'fairlead: a leader''s lease lasts for 0.1 to 60 seconds';
    end if;
end $$;

CREATE FUNCTION fairlead._check_priority(priority integer) RETURNS void
    LANGUAGE plpgsql IMMUTABLE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
begin
    if (priority between -100 and 100) is not true then
        raise exception 'fairlead: priority is %: give -100 to 100', coalesce(priority::text, 'null')
            using errcode = 'invalid_parameter_value';
    end if;
end $$;

CREATE FUNCTION fairlead._check_results(results text[]) RETURNS void
    LANGUAGE plpgsql STABLE
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET jit TO 'off'
    AS $_$
declare
    fault text;
begin
    select case
        when r.bytes > 1048576
        then format('is %s bytes of JSON, more than 1,048,576', to_char(r.bytes, 'FM999,999,999,999'))
        when r.bytes > 1000 and r.bytes - octet_length(replace(replace(r.result, '[', ''), '{', '')) >= 500
             and jsonb_path_exists(r.result::jsonb, '$.**{500}')
        then 'is nested more than 500 deep'
        when (r.result ~ '[0-9][eE][+]?[0-9]{4}' or r.bytes > 4000 and r.result ~ '[0-9]{200}')
             and jsonb_path_exists(
                 r.result::jsonb, 'strict $.** ? (@.type() == "number" && (@ >= 1e4000 || @ <= -1e4000))')
        then 'holds a number of 1e4000 or more'
    end into fault
    from (select a.result, greatest(octet_length(a.result), case
                     when octet_length(a.result) > 500 and a.result ~ '[0-9][eE][-+]?[0-9]{2}'
                         then fairlead._read_bytes(a.result) end) as bytes
          from unnest(results) as a (result)) r
    order by 1 limit 1;
    if fault is not null then
        raise exception 'fairlead: result %', fault
            using errcode = 'check_violation', constraint = 'results_are_within_bounds',
                  hint = 'Keep it somewhere else, and say in the result where.';
    end if;
end $_$;

CREATE FUNCTION fairlead._claimable(pool text, below_floor boolean) RETURNS TABLE(claimable boolean, turn_due boolean)
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    SET enable_mergejoin TO 'off'
    SET enable_sort TO 'off'
    SET plan_cache_mode TO 'force_generic_plan'
    SET jit TO 'off'
    AS $$
begin
    return query
    select coalesce(bool_or(exists (
               select from fairlead.work_queue w
               where w.pool = _claimable.pool and w.band = f.band and w.band >= 0 and w.worker is null
                 and w.vtag >= case when below_floor then -1 else f.vtag end
               order by w.vtag, w.job_id limit 1)), false),
           coalesce((select s.at not between now() - interval '1 second' and now() + interval '1 second'
                     from fairlead.floor_scans s where s.pool = _claimable.pool), false)
    from fairlead.claim_floors f
    where f.pool = _claimable.pool;
end $$;

CREATE TABLE fairlead.batches (
    id bigint NOT NULL,
    open boolean DEFAULT false NOT NULL,
    tenant text DEFAULT ''::text NOT NULL COLLATE pg_catalog."C",
    queue text DEFAULT 'default'::text NOT NULL COLLATE pg_catalog."C",
    kind text NOT NULL COLLATE pg_catalog."C",
    payload jsonb DEFAULT '{}'::jsonb NOT NULL,
    priority smallint DEFAULT 0 NOT NULL,
    max_attempts integer,
    timeout interval,
    headers jsonb,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    created_by text DEFAULT SESSION_USER COLLATE pg_catalog."C",
    succeeded bigint DEFAULT 0 NOT NULL,
    failed bigint DEFAULT 0 NOT NULL,
    cancelled bigint DEFAULT 0 NOT NULL,
    expired bigint DEFAULT 0 NOT NULL,
    unknown bigint DEFAULT 0 NOT NULL,
    counted_to bigint DEFAULT 0 NOT NULL,
    looked_to bigint DEFAULT 0 NOT NULL,
    looked_at timestamp with time zone DEFAULT now() NOT NULL,
    completed_at timestamp with time zone,
    completion_job bigint,
    problem text,
    CONSTRAINT batches_kind_is_1_to_128_bytes CHECK (((octet_length(kind) >= 1) AND (octet_length(kind) <= 128))),
    CONSTRAINT batches_max_attempts_is_between_1_and_1000 CHECK (((max_attempts >= 1) AND (max_attempts <= 1000))),
    CONSTRAINT batches_priority_is_between_minus_100_and_100 CHECK (((priority >= '-100'::integer) AND (priority <= 100))),
    CONSTRAINT batches_queue_is_1_to_128_bytes CHECK (((octet_length(queue) >= 1) AND (octet_length(queue) <= 128))),
    CONSTRAINT batches_tenant_is_at_most_128_bytes CHECK ((octet_length(tenant) <= 128)),
    CONSTRAINT batches_timeout_is_between_1_ms_and_30_days CHECK (((timeout >= '00:00:00.001'::interval) AND (timeout <= '30 days'::interval)))
)
WITH (fillfactor='70', autovacuum_vacuum_scale_factor='0', autovacuum_vacuum_threshold='1000');
ALTER TABLE ONLY fairlead.batches ALTER COLUMN tenant SET STATISTICS 0;
ALTER TABLE ONLY fairlead.batches ALTER COLUMN queue SET STATISTICS 0;
ALTER TABLE ONLY fairlead.batches ALTER COLUMN kind SET STATISTICS 0;
ALTER TABLE ONLY fairlead.batches ALTER COLUMN payload SET STATISTICS 0;
ALTER TABLE ONLY fairlead.batches ALTER COLUMN headers SET STATISTICS 0;
ALTER TABLE ONLY fairlead.batches ALTER COLUMN created_by SET STATISTICS 0;
ALTER TABLE ONLY fairlead.batches ALTER COLUMN problem SET STATISTICS 0;

COMMENT ON TABLE fairlead.batches IS 'Batches of jobs, each with the job that is inserted when all of them have ended. Applications insert rows here.';

COMMENT ON COLUMN fairlead.batches.open IS 'Whether it waits for jobs of later transactions, until close_batch. Otherwise it is over as soon as all of its jobs have ended, at once if there are none; until then others may join it.';

COMMENT ON COLUMN fairlead.batches.tenant IS 'Whose it is, and whose job its completion is.';

COMMENT ON COLUMN fairlead.batches.queue IS 'Of the completion''s job, as are kind and the following: see jobs.';

COMMENT ON COLUMN fairlead.batches.payload IS 'An object of at most 64 KiB. The completion''s job has it with one member more, batch: its id, how many jobs it had, and how many succeeded, failed, were cancelled, expired, or ended unknown. Emptied when that job is inserted.';

COMMENT ON COLUMN fairlead.batches.headers IS 'An object of at most 4 KiB: trace context and the like.';

COMMENT ON COLUMN fairlead.batches.created_by IS 'The login that inserted it.';

COMMENT ON COLUMN fairlead.batches.succeeded IS 'How many of its jobs have succeeded, of those that are counted: in the order in which they joined, up to the first that has not ended; and some behind that where it takes hours.';

COMMENT ON COLUMN fairlead.batches.unknown IS 'Jobs that have ended and that the history does not have: deleted by hand, erased, or past its retention.';

COMMENT ON COLUMN fairlead.batches.counted_to IS 'The place of the last job that is counted.';

COMMENT ON COLUMN fairlead.batches.looked_to IS 'The place up to which jobs behind the first that has not ended were looked at in this round, 0 between two.';

COMMENT ON COLUMN fairlead.batches.looked_at IS 'When the last such round has ended.';

COMMENT ON COLUMN fairlead.batches.completed_at IS 'When it was over. Without a completion_job nobody closed it, or it was erased.';

COMMENT ON COLUMN fairlead.batches.completion_job IS 'The job that was inserted then.';

COMMENT ON COLUMN fairlead.batches.problem IS 'Why that job cannot be inserted, such as a full backlog; it is tried again about once a second.';

CREATE FUNCTION fairlead._count_batch(batch fairlead.batches, jobs_max integer, OUT counted integer, OUT over boolean) RETURNS record
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
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

CREATE FUNCTION fairlead._count_behind(of_batch bigint, jobs_max integer) RETURNS integer
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
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

CREATE FUNCTION fairlead._count_crashes(ids bigint[], tokens bigint[]) RETURNS SETOF bigint
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    SET enable_mergejoin TO 'off'
    SET enable_sort TO 'off'
    SET plan_cache_mode TO 'force_generic_plan'
    SET jit TO 'off'
    AS $$
declare
    own constant bigint[] := fairlead._own(ids, tokens);
begin
    return query
    update fairlead.jobs j
    set crashes = fairlead._one_more(j.crashes)
    where j.id = any (array(
        select l.id from fairlead.jobs l
        where l.id = any (ids)
          and ((l.id, (select q.token from fairlead.work_queue q where q.job_id = l.id)) in (
              select a.job_id, a.held from unnest(ids, own) as a (job_id, held))) is true
        order by l.id for update skip locked))
    returning j.id;
end $$;

CREATE FUNCTION fairlead._count_endings(ids bigint[], since timestamp with time zone, OUT succeeded bigint, OUT failed bigint, OUT cancelled bigint, OUT expired bigint, OUT unknown bigint) RETURNS record
    LANGUAGE plpgsql STABLE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
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

CREATE FUNCTION fairlead._count_schedule_change() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
begin
    new.changes := old.changes + 1;
    return new;
end $$;

CREATE FUNCTION fairlead._deadline(timeout interval) RETURNS timestamp with time zone
    LANGUAGE sql STABLE PARALLEL SAFE
    RETURN (now() + LEAST(GREATEST(timeout, '00:00:00.001'::interval), '1000 years'::interval));

CREATE FUNCTION fairlead._due_like(of_queue text, of_tenant text, rows_max integer, OUT ids bigint[], OUT complete boolean) RETURNS record
    LANGUAGE plpgsql STABLE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
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

CREATE FUNCTION fairlead._end_attempts(ids bigint[], tokens bigint[], ended_as text[], errors text[], delays interval[], skip_locked boolean DEFAULT false) RETURNS TABLE(job_id bigint, token bigint, became text)
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET enable_seqscan TO 'off'
    SET jit TO 'off'
    AS $$
declare
    mine bigint[];
    decided_ids bigint[];
    decided_tokens bigint[];
    decided_became text[];
    released_ids bigint[];
    over_ids bigint[];
    over_became text[];
    over_errors text[];
begin
    perform fairlead._require_read_committed();
    if skip_locked then
        select array_agg(s.id) filter (where s.ending = 0 or s.before < fairlead._bytes_at_once()) into mine
        from (
            select l.id, l.ending, sum(l.ending) over (rows unbounded preceding) - l.ending as before
            from (
                select j.id, case when j.cancel_requested_at is not null or j.lone_deaths >= 2
                                  then fairlead._stored_bytes(j.payload, j.headers, j.last_error) else 0 end as ending
                from fairlead.jobs j where j.id = any (ids) order by j.id
                for update skip locked) l) s;
    else
        select array_agg(l.id) into mine from (
            select j.id from fairlead.jobs j where j.id = any (ids) order by j.id for update) l;
    end if;
    with asked as materialized (
        select a.* from unnest(ids, tokens, ended_as, errors, delays)
            as a (job_id, token, ended_as, error, delay)
    ), held as materialized (
        select q.job_id, q.token, q.pool, q.band, q.alone, q.claimed_at, q.worker
        from fairlead.work_queue q
        where q.job_id = any (mine)
          and ((q.job_id, q.token) in (select a.job_id, a.token from asked a)) is true
        order by q.job_id for update skip locked
    ), decided as materialized (
        select a.job_id, a.token, a.ended_as, a.error, h.pool, h.band, h.claimed_at, j.tenant, j.attempts,
               coalesce(o.attempts, m.attempts) as attempts_max, o.attempts is not null as once,
               case when a.ended_as = 'crashed' then fairlead._one_more(j.crashes) else j.crashes end as crashes,
               case when a.ended_as = 'lost' then fairlead._one_more(j.losses) else j.losses end as losses,
               case when h.alone and a.ended_as in ('crashed', 'lost') then fairlead._one_more(j.lone_deaths)
                    else j.lone_deaths end as lone_deaths,
               case when a.ended_as = 'crashed'
                         or a.ended_as = 'lost' and fairlead._one_more(j.losses) % 3 = 0 then true
                    when h.alone and a.ended_as in ('failed', 'snoozed', 'released') then false
                    else j.suspect end as suspect,
               least(greatest(coalesce(a.delay, fairlead._backoff(j.attempts)), interval '0'),
                     interval '1000 years') as delay,
               case
                   when h.job_id is null and l.job_id is not null then 'locked'
                   when h.job_id is null then 'stale'
                   when j.cancel_requested_at is not null then 'cancelled'
                   when o.attempts is not null then 'failed'
                   when a.ended_as = 'failed'
                        and fairlead._one_more(j.attempts) >= m.attempts
                       then 'failed'
                   when a.ended_as in ('crashed', 'lost') and h.alone and j.lone_deaths >= 2
                       then 'failed'
                   when a.ended_as in ('failed', 'snoozed') then 'scheduled'
                   when a.ended_as <> 'returned' and exists (
                       select from fairlead.evictions e
                       where e.job_id = a.job_id and e.token = a.token) then 'pending'
                   else 'queued'
               end as became
        from asked a
        left join held h on h.job_id = a.job_id and h.token = a.token
        left join lateral (
            select q.job_id from fairlead.work_queue q
            where q.job_id = a.job_id and q.token = a.token offset 0) l on true
        left join lateral (select * from fairlead.jobs j where j.id = a.job_id offset 0) j on true
        left join lateral (
            select fairlead._attempts_of(j.max_attempts, j.kind, h.worker) as attempts
            where a.ended_as = 'failed' and h.job_id is not null offset 0) m on true
        left join lateral (
            select 1 as attempts from fairlead.worker_kinds k
            where a.ended_as in ('failed', 'crashed', 'lost', 'released') and k.worker = h.worker
              and k.at_most_once[array_position(k.kinds, j.kind)] offset 0) o on true
    ), noted as (
        insert into fairlead.attempt_errors (job_id, token, attempt, ended_as, error, tenant)
        select d.job_id, d.token, fairlead._one_more(d.attempts), d.ended_as, coalesce(d.error, ''), d.tenant
        from decided d
        where d.became not in ('stale', 'locked')
          and d.ended_as in ('failed', 'crashed', 'lost', 'released')
    ), counted as (
        update fairlead.jobs j
        set attempts = case when d.ended_as = 'failed' and d.became = 'scheduled'
                            then fairlead._one_more(j.attempts) else j.attempts end,
            crashes = d.crashes, losses = d.losses, lone_deaths = d.lone_deaths, suspect = d.suspect,
            last_error = coalesce(d.error, j.last_error),
            -- So that the history says how many there were.
            max_attempts = case when d.became = 'failed' then coalesce(d.attempts_max, j.max_attempts)
                                else j.max_attempts end,
            -- The next wait of one that is pending is counted from here, and not from before it ran.
            due_at = case when d.became = 'pending' then clock_timestamp()
                          else coalesce(j.due_at, j.created_at) end,
            run_at = case when d.became = 'scheduled' then clock_timestamp() + d.delay end
        from decided d
        where j.id = any (mine) and j.id = d.job_id and d.became not in ('stale', 'locked')
          and d.ended_as <> 'returned'
    ), requeued as (
        update fairlead.work_queue q
        set worker = null, token = null, claimed_at = null, deadline = null,
            alone = d.suspect,
            -- Its next wait is counted from here, and not from before it ran.
            runnable_at = case when d.ended_as = 'returned' then q.runnable_at
                               else clock_timestamp() end,
            vtag = greatest(q.vtag, (
                select f.vtag from fairlead.claim_floors f where f.pool = d.pool and f.band = d.band))
        from decided d
        where q.job_id = any (mine) and q.job_id = d.job_id and d.became = 'queued'
    ), dequeued as (
        delete from fairlead.work_queue q
        where q.job_id = any (array(
            select d.job_id from decided d where d.became in ('scheduled', 'pending')))
    ), receipted as (
        insert into fairlead.receipts (ended, run_us, returned, evicted)
        select array_agg(d.job_id) filter (where d.became in ('scheduled', 'pending')),
               array_agg(fairlead._epoch_us(clock_timestamp()) - fairlead._epoch_us(d.claimed_at))
                   filter (where d.became in ('scheduled', 'pending')),
               array_agg(d.job_id) filter (where d.became = 'queued'),
               array_agg(d.job_id) filter (where d.became = 'pending')
        from decided d having bool_or(d.became in ('scheduled', 'pending', 'queued'))
    )
    select array_agg(d.job_id), array_agg(d.token), array_agg(d.became),
           array_agg(d.job_id) filter (where d.became in ('failed', 'cancelled')),
           array_agg(d.became) filter (where d.became in ('failed', 'cancelled')),
           array_agg(case
               when d.once and d.ended_as <> 'failed'
                   then concat_ws('; ', nullif(d.error, ''), 'it runs at most once')
               when d.became = 'failed' and d.ended_as in ('crashed', 'lost')
                   then 'quarantined: the process that ran it alone died '
                        || d.lone_deaths || ' times; ' || coalesce(d.error, '')
               else d.error end) filter (where d.became in ('failed', 'cancelled'))
    into decided_ids, decided_tokens, decided_became, over_ids, over_became, over_errors
    from decided d;
    -- In a statement of its own, so that the ending carries the counts from above.
    if over_ids is not null then
        perform fairlead._end_jobs(over_ids, over_became, over_errors);
        perform fairlead._tell_waiting(over_ids);
    end if;
    if 'queued' = any (decided_became) then
        perform fairlead._notify('fairlead_work', '');
    end if;
    -- What looks locked may be a row whose job is gone.
    if 'locked' = any (decided_became) then
        select array_agg(r.job_id) into released_ids from fairlead._release(ids, tokens) r;
    end if;
    return query
    select d.job_id, d.token, case when d.job_id = any (released_ids) then 'stale' else d.became end
    from unnest(decided_ids, decided_tokens, decided_became) as d (job_id, token, became);
end $$;

CREATE FUNCTION fairlead._end_expired(ids bigint[]) RETURNS integer
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
declare
    free bigint[];
    errors text[];
begin
    if ids is null then
        return 0;
    end if;
    -- A new snapshot: what is not queued now cannot be queued while its row is held.
    select array_agg(u.id) into free from unnest(ids) as u (id)
    where not exists (select from fairlead.work_queue q where q.job_id = u.id);
    select free || array_agg(l.job_id) into free from (
        select q.job_id from fairlead.work_queue q
        where q.job_id = any (ids) and q.worker is null order by q.job_id
        for update skip locked) l;
    if cardinality(free) > 0 then
        select array_agg(case
                   when j.attempts = 0 and j.crashes = 0 and j.losses = 0 and j.last_error is null
                       then 'it expired while it waited to run'
                   else 'it expired while it waited to run again'
                        || coalesce('; before that: ' || nullif(j.last_error, ''), '') end
               order by j.id),
               array_agg(j.id order by j.id)
        into errors, free
        from fairlead.jobs j where j.id = any (free);
        perform fairlead._end_unstarted(free, 'expired', errors);
    end if;
    return coalesce(cardinality(free), 0);
end $$;

CREATE FUNCTION fairlead._one_more(count integer) RETURNS integer
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN (LEAST(GREATEST(count, 0), 2147483646) + 1);

CREATE TABLE fairlead.job_history (
    id bigint NOT NULL,
    token bigint,
    worker bigint,
    created_at timestamp with time zone NOT NULL,
    due_at timestamp with time zone,
    runnable_at timestamp with time zone,
    claimed_at timestamp with time zone,
    finished_at timestamp with time zone NOT NULL,
    retry_of bigint,
    retried_as bigint,
    policy_version bigint,
    attempt integer NOT NULL,
    max_attempts integer,
    crashes integer NOT NULL,
    losses integer NOT NULL,
    priority smallint NOT NULL,
    outcome text NOT NULL COLLATE pg_catalog."C",
    queue text NOT NULL COLLATE pg_catalog."C",
    tenant text NOT NULL COLLATE pg_catalog."C",
    kind text NOT NULL COLLATE pg_catalog."C",
    payload jsonb,
    timeout interval,
    cost_hint interval,
    dedup_key text COLLATE pg_catalog."C",
    headers jsonb,
    result jsonb,
    error text,
    enqueued_by text COLLATE pg_catalog."C"
)
PARTITION BY LIST (outcome);
ALTER TABLE ONLY fairlead.job_history ALTER COLUMN payload SET STATISTICS 0;
ALTER TABLE ONLY fairlead.job_history ALTER COLUMN dedup_key SET STATISTICS 0;
ALTER TABLE ONLY fairlead.job_history ALTER COLUMN headers SET STATISTICS 0;
ALTER TABLE ONLY fairlead.job_history ALTER COLUMN result SET STATISTICS 0;
ALTER TABLE ONLY fairlead.job_history ALTER COLUMN error SET STATISTICS 0;

COMMENT ON TABLE fairlead.job_history IS 'One row per ending of a job, with its fencing token; what retry and redrive read.';

COMMENT ON COLUMN fairlead.job_history.token IS 'Null when the job ended without being claimed.';

COMMENT ON COLUMN fairlead.job_history.retried_as IS 'The newest job that repeats it. It stands here and not with that job, whose own ending may be forgotten sooner than this one.';

COMMENT ON COLUMN fairlead.job_history.enqueued_by IS 'As in jobs.';

CREATE UNLOGGED TABLE fairlead.receipts (
    id bigint NOT NULL,
    at timestamp with time zone DEFAULT GREATEST(now(), (clock_timestamp() - '00:00:01'::interval)) NOT NULL,
    worker bigint,
    claimed bigint[],
    ended bigint[],
    run_us bigint[],
    returned bigint[],
    queues text[],
    kinds text[],
    outcomes text[],
    passed_over bigint[],
    evicted bigint[],
    moved jsonb
)
WITH (autovacuum_vacuum_scale_factor='0', autovacuum_vacuum_threshold='1000');

COMMENT ON TABLE fairlead.receipts IS 'Receipts of claims, endings and hand-backs, from which the leader learns real run times.';

COMMENT ON COLUMN fairlead.receipts.passed_over IS 'Unclaimed rows that a claim passed over, because the worker has no room for more of their kinds.';

COMMENT ON COLUMN fairlead.receipts.evicted IS 'Those of the ended that were asked to stop and are pending again, each with its place in its lane.';

COMMENT ON COLUMN fairlead.receipts.moved IS 'Jobs that wait and were given another priority: queue, tenant, the rank they had, the one they have, and their ids.';

CREATE TABLE fairlead.work_queue (
    job_id bigint NOT NULL,
    vtag bigint NOT NULL,
    estimate_us bigint NOT NULL,
    epoch bigint NOT NULL,
    runnable_at timestamp with time zone NOT NULL,
    worker bigint,
    token bigint,
    claimed_at timestamp with time zone,
    deadline timestamp with time zone,
    timeout interval NOT NULL,
    band smallint NOT NULL,
    alone boolean DEFAULT false NOT NULL,
    pool text NOT NULL COLLATE pg_catalog."C",
    queue text NOT NULL COLLATE pg_catalog."C",
    tenant text NOT NULL COLLATE pg_catalog."C",
    timeout_max interval,
    completed boolean DEFAULT false NOT NULL
)
WITH (fillfactor='45', autovacuum_vacuum_scale_factor='0', autovacuum_vacuum_threshold='2000', autovacuum_analyze_scale_factor='0', autovacuum_analyze_threshold='50000', autovacuum_vacuum_cost_delay='0');

COMMENT ON TABLE fairlead.work_queue IS 'Dispatched jobs: unclaimed while worker is null, leased with a fencing token after that.';

COMMENT ON COLUMN fairlead.work_queue.vtag IS 'The order tag: weighted slot-microseconds.';

COMMENT ON COLUMN fairlead.work_queue.runnable_at IS 'The later of falling due and being seen by the leader; waits count from here.';

COMMENT ON COLUMN fairlead.work_queue.alone IS 'Runs in a process of its own, because a process that ran it has died.';

COMMENT ON COLUMN fairlead.work_queue.timeout_max IS 'How long after its claim a handler may extend the attempt''s deadline to; null: a scheduler of an earlier version dispatched it, and nothing bounds that.';

COMMENT ON COLUMN fairlead.work_queue.completed IS 'Its handler has finished the job, which is in the history, and has the slot still.';

CREATE FUNCTION fairlead._end_jobs(ids bigint[], outcomes text[], errors text[] DEFAULT NULL::text[], results jsonb[] DEFAULT NULL::jsonb[]) RETURNS void
    LANGUAGE sql
    BEGIN ATOMIC
 WITH asked AS MATERIALIZED (
          SELECT a.id,
             a.outcome,
             a.error,
             a.result
            FROM UNNEST(_end_jobs.ids, _end_jobs.outcomes, _end_jobs.errors, _end_jobs.results) a(id, outcome, error, result)
         ), held AS MATERIALIZED (
          SELECT q.ctid AS place,
             q.job_id,
             q.token,
             q.worker,
             q.runnable_at,
             q.claimed_at,
             q.completed
            FROM fairlead.work_queue q
           WHERE (q.job_id = ANY (_end_jobs.ids))
         ), released AS (
          DELETE FROM fairlead.work_queue q
           WHERE (q.ctid = ANY (ARRAY( SELECT h.place
                    FROM held h
                   WHERE (NOT h.completed))))
           RETURNING q.job_id,
             q.claimed_at
         ), gone AS (
          DELETE FROM fairlead.jobs j
           WHERE (j.id = ANY (_end_jobs.ids))
           RETURNING j.id,
             j.seq,
             j.run_at,
             j.expires_at,
             j.created_at,
             j.due_at,
             j.cancel_requested_at,
             j.retry_of,
             j.max_attempts,
             j.attempts,
             j.crashes,
             j.losses,
             j.lone_deaths,
             j.priority,
             j.rank,
             j.suspect,
             j.queue,
             j.tenant,
             j.kind,
             j.payload,
             j.timeout,
             j.cost_hint,
             j.dedup_key,
             j.headers,
             j.last_error,
             j.checkpoint,
             j.enqueued_by
         ), kept AS (
          INSERT INTO fairlead.job_history (id, token, worker, created_at, due_at, runnable_at, claimed_at, finished_at, retry_of, attempt, max_attempts, crashes, losses, priority, outcome, queue, tenant, kind, payload, timeout, cost_hint, dedup_key, headers, result, error, enqueued_by)  SELECT g.id,
                     h.token,
                     h.worker,
                     g.created_at,
                     g.due_at,
                     h.runnable_at,
                     h.claimed_at,
                     clock_timestamp() AS clock_timestamp,
                     g.retry_of,
                         CASE
                             WHEN (h.claimed_at IS NULL) THEN g.attempts
                             ELSE fairlead._one_more(g.attempts)
                         END AS _one_more,
                     g.max_attempts,
                     g.crashes,
                     g.losses,
                     g.priority,
                     a.outcome,
                     g.queue,
                     g.tenant,
                     g.kind,
                     g.payload,
                     g.timeout,
                     g.cost_hint,
                     g.dedup_key,
                     g.headers,
                     a.result,
                         CASE
                             WHEN (a.outcome = 'succeeded'::text) THEN a.error
                             ELSE COALESCE(a.error, g.last_error)
                         END AS "coalesce",
                     g.enqueued_by
                    FROM ((gone g
                      JOIN asked a ON ((a.id = g.id)))
                      LEFT JOIN held h ON ((h.job_id = g.id)))
         )
  INSERT INTO fairlead.receipts (ended, run_us)  SELECT array_agg(r.job_id) AS array_agg,
             array_agg(COALESCE((fairlead._epoch_us(clock_timestamp()) - fairlead._epoch_us(r.claimed_at)), (0)::bigint)) AS array_agg
            FROM released r
          HAVING (count(*) > 0);
END;

CREATE FUNCTION fairlead._end_notifications() RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
begin
    perform setval('fairlead.inserts_notify', 1, false), setval('fairlead.endings_notify', 1, false);
end $$;

CREATE FUNCTION fairlead._end_pauses(my_epoch bigint, rows_max integer) RETURNS integer
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET enable_seqscan TO 'off'
    SET jit TO 'off'
    AS $$
declare
    pause record;
    ended integer := 0;
begin
    if not exists (select from fairlead.paused p where p.until <= now())
       or not fairlead._leads(my_epoch) then
        return 0;
    end if;
    for pause in
        delete from fairlead.paused p
        where p.ctid = any (array(
            select o.ctid from fairlead.paused o
            where o.until <= now() order by o.until limit least(_end_pauses.rows_max, 10000)
            for update skip locked))
        returning p.queue, p.tenant, p.until
    loop
        perform fairlead._record_audit(
            'resume', queue => pause.queue, tenant => pause.tenant,
            details => jsonb_build_object('until', pause.until), reason => 'its end has come');
        ended := ended + 1;
    end loop;
    perform fairlead._notify('fairlead_scheduler', '') where ended > 0;
    return ended;
end $$;

CREATE FUNCTION fairlead._end_unstarted(ids bigint[], outcome text, errors text[] DEFAULT NULL::text[]) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
begin
    insert into fairlead.receipts (queues, kinds, outcomes)
    select array_agg(e.queue), array_agg(e.kind), array_agg(_end_unstarted.outcome)
    from (
        select j.queue, j.kind, (row_number() over () - 1) / 100 as hundred
        from fairlead.jobs j where j.id = any (ids)) e
    group by e.hundred;
    perform fairlead._end_jobs(ids, array_fill(outcome, array[cardinality(ids)]), errors);
    perform fairlead._tell_waiting(ids);
end $$;

CREATE FUNCTION fairlead._ended(ids bigint[], tokens bigint[]) RETURNS SETOF bigint
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    SET enable_mergejoin TO 'off'
    SET enable_sort TO 'off'
    SET plan_cache_mode TO 'force_generic_plan'
    SET jit TO 'off'
    AS $$
begin
    return query
    select h.token from fairlead.job_history h
    where h.id = any (ids) and h.finished_at > now() - interval '1 day'
      and ((h.id, h.token) in (
          select a.job_id, a.token from unnest(ids, tokens) as a (job_id, token))) is true
    union all
    select e.token from fairlead.attempt_errors e
    where e.job_id = any (ids) and e.ended_as <> 'lost'
      and ((e.job_id, e.token) in (
          select a.job_id, a.token from unnest(ids, tokens) as a (job_id, token))) is true;
end $$;

CREATE FUNCTION fairlead._erase_batches(tenant text, after_id bigint, batches_max integer, OUT batches integer, OUT reached_id bigint) RETURNS record
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    SET jit TO 'off'
    AS $$
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

CREATE FUNCTION fairlead._erase_history(tenant text, after_id bigint, jobs_max integer, OUT erased integer, OUT reached_id bigint) RETURNS record
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET enable_seqscan TO 'off'
    SET jit TO 'off'
    AS $$
declare
    looked_max constant integer := 10000;
    behind constant bigint := coalesce(_erase_history.after_id, 0);
    wanted integer := least(greatest(_erase_history.jobs_max, 0), looked_max);
    ids bigint[];
    sizes bigint[];
    fitting integer;
begin
    if not fairlead._sees(_erase_history.tenant) then
        raise exception 'fairlead: this login may erase its own tenant only'
            using errcode = 'insufficient_privilege';
    end if;
    perform fairlead._require_read_committed();
    with ended as materialized (
        select h.id, h.tenant,
               fairlead._stored_bytes(h.payload, h.headers, h.error) + coalesce(pg_column_size(h.result), 0) as bytes
        from fairlead.job_history h where h.id > behind order by h.id limit looked_max
    ), failed as materialized (
        select e.job_id as id, e.tenant from fairlead.attempt_errors e
        where e.job_id > behind order by e.job_id limit looked_max
    ), looked as materialized (
        select least((select max(h.id) from ended h having count(*) = looked_max),
                     (select max(e.id) from failed e having count(*) = looked_max)) as last
    ), picked as materialized (
        select a.id, max(a.bytes) as bytes from (
            select h.id, h.bytes from ended h where h.tenant = _erase_history.tenant
            union
            select e.id, 0 from failed e
            where e.tenant = _erase_history.tenant
              and not exists (select from fairlead.jobs j where j.id = e.id offset 0)) a
        where a.id <= coalesce((select l.last from looked l), a.id) group by a.id order by a.id limit wanted
    )
    select p.ids, p.sizes, case when p.many >= wanted then p.last else (select l.last from looked l) end
    into ids, sizes, reached_id
    from (select coalesce(array_agg(k.id), '{}') as ids, array_agg(k.bytes) as sizes, count(*) as many,
                 max(k.id) as last from picked k) p;
    fitting := fairlead._fitting(sizes);
    if fitting < cardinality(ids) then
        reached_id := ids[fitting];
        ids := ids[:fitting];
    end if;
    erased := cardinality(ids);
    if erased > 0 then
        delete from fairlead.job_history h where h.id = any (ids) and h.tenant = _erase_history.tenant;
        delete from fairlead.attempt_errors e where e.job_id = any (ids);
        delete from fairlead.job_progress p where p.job_id = any (ids);
        perform fairlead._record_audit(
            'erase_tenant', queue => '', tenant => _erase_history.tenant,
            details => jsonb_build_object('jobs', erased));
    end if;
end $$;

CREATE FUNCTION fairlead._erase_periods(tenant text) RETURNS integer
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
declare
    deleted integer;
begin
    delete from fairlead.unique_periods p where p.tenant = _erase_periods.tenant;
    get diagnostics deleted = row_count;
    return deleted;
end $$;

CREATE FUNCTION fairlead._expire(my_epoch bigint, expired_from timestamp with time zone, jobs_max integer) RETURNS integer
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
declare
    ids bigint[];
    sizes bigint[];
    fitting integer;
    ended integer;
begin
    perform fairlead._require_read_committed();
    if not fairlead._leads(my_epoch) then
        return 0;
    end if;
    select array_agg(e.id), array_agg(e.bytes) into ids, sizes from (
        select j.id, fairlead._stored_bytes(j.payload, j.headers, j.last_error) as bytes
        from fairlead.jobs j
        where j.expires_at >= expired_from and j.expires_at <= now()
          and not exists (
              select from fairlead.work_queue q where q.job_id = j.id and q.worker is not null)
        order by j.expires_at limit jobs_max for update skip locked) e;
    fitting := fairlead._fitting(sizes);
    ended := fairlead._end_expired(ids[:fitting]);
    return case when fitting < cardinality(ids) then jobs_max else ended end;
end $$;

CREATE FUNCTION fairlead._expire_turns(my_epoch bigint, after_queue text, after_tenant text, lanes_max integer, lane_jobs_max integer, jobs_max integer, OUT ended integer, OUT lanes integer, OUT next_queue text, OUT next_tenant text) RETURNS record
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
declare
    ids bigint[];
begin
    perform fairlead._require_read_committed();
    ended := 0;
    lanes := 0;
    if not fairlead._leads(my_epoch) then
        return;
    end if;
    with recursive lane as (
        (select j.queue, j.tenant, j.run_at, j.expires_at from fairlead.jobs j
         where num_nonnulls(j.run_at, j.expires_at) > 0
           and (j.queue, j.tenant) > (after_queue, after_tenant)
         order by j.queue, j.tenant, j.run_at, j.expires_at limit 1)
        union all
        select n.* from lane l cross join lateral (
            select j.queue, j.tenant, j.run_at, j.expires_at from fairlead.jobs j
            where num_nonnulls(j.run_at, j.expires_at) > 0
              and (j.queue, j.tenant) > (l.queue, l.tenant)
            order by j.queue, j.tenant, j.run_at, j.expires_at limit 1) n
    ), walked as materialized (
        select l.* from lane l limit lanes_max
    ), expired as materialized (
        select e.id, e.bytes, w.queue, w.tenant from walked w cross join lateral (
            select j.id, fairlead._stored_bytes(j.payload, j.headers, j.last_error) as bytes
            from fairlead.jobs j
            where num_nonnulls(j.run_at, j.expires_at) > 0 and j.queue = w.queue
              and j.tenant = w.tenant and j.run_at is null and j.expires_at <= now()
              and not exists (
                  select from fairlead.work_queue q
                  where q.job_id = j.id and q.worker is not null offset 0)
            order by j.run_at, j.expires_at limit lane_jobs_max for update skip locked) e
        -- A lane's pending jobs come after its scheduled ones in the index, and the first tells of both.
        where w.run_at is not null or w.expires_at <= now()
        limit jobs_max
    ), fitting as materialized (
        select s.* from (
            select e.*, sum(e.bytes) over (rows unbounded preceding) - e.bytes as before from expired e) s
        where s.before < fairlead._bytes_at_once()
    )
    select f.ids, f.lanes, case when f.jobs >= jobs_max or f.cut then f.queue
                                when w.lanes >= lanes_max then w.queue end,
           case when f.jobs >= jobs_max or f.cut then f.tenant when w.lanes >= lanes_max then w.tenant end
    into ids, lanes, next_queue, next_tenant
    from (
        select array_agg(e.id) as ids, count(*) as jobs,
               (select count(*) from (select from fitting e group by e.queue, e.tenant) g) as lanes,
               count(*) < (select count(*) from expired) as cut,
               (array_agg(e.queue))[count(*)] as queue, (array_agg(e.tenant))[count(*)] as tenant
        from fitting e
    ) f cross join (
        select count(*) as lanes, (array_agg(v.queue))[count(*)] as queue,
               (array_agg(v.tenant))[count(*)] as tenant
        from walked v
    ) w;
    ended := fairlead._end_expired(ids);
end $$;

CREATE FUNCTION fairlead._explain(job_id bigint) RETURNS jsonb
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET enable_seqscan TO 'off'
    SET jit TO 'off'
    AS $$
declare
    job record;
    known jsonb;
    answered jsonb;
    ahead integer;
    asked integer;
    since timestamptz;
    ends_at timestamptz;
begin
    select s.state, s.queue, s.tenant, s.run_at, s.claimed_at, s.finished_at, s.worker, s.deadline,
           s.cancel_requested_at
    into job from fairlead.job_status s where s.id = _explain.job_id;
    if job.state is null then
        return jsonb_build_object('job', _explain.job_id, 'state', 'unknown', 'sentence',
            'there is no such job, or its history is gone');
    end if;
    known := jsonb_build_object('job', _explain.job_id, 'state', job.state,
                                'queue', job.queue, 'tenant', job.tenant);
    if job.state = 'running' then
        return known || jsonb_build_object('sentence', format(
            'it runs since %s on worker %s%s', job.claimed_at, job.worker,
            case when job.cancel_requested_at is not null then ', and has been asked to stop' end));
    elsif job.state = 'scheduled' then
        return known || jsonb_build_object('blocked_by', 'not due', 'starts_at', job.run_at, 'sentence',
            format('it is not due before %s', job.run_at));
    elsif job.state not in ('pending', 'queued') then
        return known || jsonb_build_object('sentence', format('it ended at %s', job.finished_at));
    end if;
    if job.state = 'queued' then
        select count(*) into ahead from (
            select from fairlead.work_queue mine cross join lateral (
                select w.job_id from fairlead.claim_floors f cross join lateral (
                    select w.job_id from fairlead.work_queue w
                    where w.pool = mine.pool and w.band = f.band and w.band >= 0 and w.worker is null
                      and w.vtag >= f.vtag
                      and (w.band < mine.band or (w.vtag, w.job_id) < (mine.vtag, mine.job_id))
                    order by w.vtag, w.job_id limit 10001) w
                where f.pool = mine.pool and f.band <= mine.band limit 10001) w
            where mine.job_id = _explain.job_id) rows;
        known := known || jsonb_build_object('ahead', ahead);
    else
        select min(p.since), case when bool_and(p.until is not null) then max(p.until) end into since, ends_at
        from fairlead.paused p
        where p.queue = job.queue and (p.tenant is null or p.tenant = job.tenant);
        if since is not null then
            return known || jsonb_strip_nulls(jsonb_build_object(
                'blocked_by', 'paused', 'blocked_since', since, 'paused_until', ends_at,
                'blocked_seconds', extract(epoch from clock_timestamp() - since), 'sentence', format(
                    'its %s is paused since %s%s: resume it',
                    case when exists (select from fairlead.paused p
                                      where p.queue = job.queue and p.tenant is null)
                         then 'queue' else 'tenant' end,
                    since, case when ends_at is not null then format(', until %s', ends_at) end)));
        end if;
    end if;
    if not exists (select from fairlead.leaders l
                   where l.role = 'scheduler' and l.lease_until > clock_timestamp()) then
        if job.state = 'queued' then
            return known || jsonb_build_object('sentence', format(
                'it is dispatched and waits for a worker, behind %s others; why, only a scheduler that leads '
                'could say, and none does', ahead));
        end if;
        return known || jsonb_build_object('blocked_by', 'no leader', 'sentence',
            'no scheduler leads: nothing is dispatched until one does');
    end if;
    select r.answer into answered from fairlead.explain_requests r
    where r.job_id = _explain.job_id and r.answered_at > clock_timestamp() - interval '2 seconds'
      and coalesce(r.answer ->> 'state', 'pending') = job.state
    order by r.id desc limit 1;
    if found then
        return known || answered;
    end if;
    select count(*) into asked from (
        select from fairlead.explain_requests r
        where r.login = session_user and r.answered_at is null
          and r.asked_at > clock_timestamp() - interval '1 minute'
        limit 100) q;
    if asked = 100 then
        return known || jsonb_build_object('asked', false, 'sentence',
            'a hundred questions of this login wait for the leader: ask again in a moment');
    end if;
    if job.state = 'pending' then
        select count(*) into ahead from (
            select from fairlead.jobs mine cross join lateral (
                select j.id from fairlead.jobs j
                where j.queue = mine.queue and j.tenant = mine.tenant and j.run_at is null
                  and (j.rank, j.seq) < (mine.rank, mine.seq)
                order by j.rank, j.seq limit 10000) j
            where mine.id = _explain.job_id) rows;
    end if;
    insert into fairlead.explain_requests (job_id, queue, tenant, ahead, login)
    select _explain.job_id, job.queue, job.tenant, ahead, session_user
    where not exists (
        select from fairlead.explain_requests r
        where r.job_id = _explain.job_id and r.answered_at is null);
    perform fairlead._notify('fairlead_scheduler', 'question');
    return known || jsonb_build_object('asked', true, 'sentence',
        'the leader has been asked: ask again in a moment');
end $$;

CREATE FUNCTION fairlead._fire(my_epoch bigint, tenants text[], names text[], crons text[], timezones text[], considered_us bigint[], problems text[], fire_places bigint[], fires_us bigint[]) RETURNS SETOF bigint
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    SET jit TO 'off'
    AS $$
declare
    found_places bigint[];
    large_ids bigint[];
    large_tenants text[];
    large_names text[];
begin
    perform fairlead._require_read_committed();
    if not fairlead._leads(my_epoch) then
        return;
    end if;
    with asked as materialized (
        select a.* from unnest(tenants, names, crons, timezones, _fire.considered_us, problems)
            with ordinality as a (tenant, name, cron, timezone, considered_us, fault, place)
    ), schedule as materialized (
        select s.*, a.place, a.considered_us, a.fault,
               pg_column_size(s.payload) >= 1000 or pg_column_compression(s.payload) is not null as large
        from asked a join fairlead.schedules s on s.tenant = a.tenant and s.name = a.name
        where s.cron = a.cron and s.timezone = a.timezone and s.enabled
        for update of s skip locked
    ), fires as (
        insert into fairlead.schedule_fires (tenant, schedule, fire_time)
        select s.tenant, s.name, to_timestamp(f.fire_us / 1e6)
        from schedule s
        join unnest(fire_places, fires_us) as f (place, fire_us) on f.place = s.place
        on conflict (tenant, schedule, fire_time) do nothing
        returning tenant, schedule, fire_time
    ), inserted as (
        insert into fairlead.jobs (
            queue, tenant, kind, payload, priority, max_attempts, timeout, expires_at, headers,
            enqueued_by)
        select s.queue, s.tenant, s.kind, case when s.large then '{}' else s.payload end, s.priority,
               s.max_attempts, s.timeout, f.fire_time + s.expires_in,
               s.headers || jsonb_build_object(
                   'fairlead.schedule', s.name,
                   'fairlead.fire_time', to_char(f.fire_time at time zone 'UTC',
                                                 'YYYY-MM-DD"T"HH24:MI:SS"Z"')),
               s.created_by
        from fires f join schedule s on s.tenant = f.tenant and s.name = f.schedule
        returning id, tenant, headers ->> 'fairlead.schedule' as schedule
    ), considered as (
        update fairlead.schedules s
        set considered_until = greatest(s.considered_until, to_timestamp(c.considered_us / 1e6)),
            problem = c.fault
        from schedule c where s.tenant = c.tenant and s.name = c.name
    )
    select (select array_agg(c.place) from schedule c),
           array_agg(i.id) filter (where s.large), array_agg(i.tenant) filter (where s.large),
           array_agg(i.schedule) filter (where s.large)
    into found_places, large_ids, large_tenants, large_names
    from inserted i join schedule s on s.tenant = i.tenant and s.name = i.schedule;
    update fairlead.jobs j set payload = s.payload
    from unnest(large_ids, large_tenants, large_names) as l (id, tenant, name)
    join fairlead.schedules s on s.tenant = l.tenant and s.name = l.name
    where j.id = l.id;
    return query select f.place from unnest(found_places) as f (place);
end $$;

CREATE FUNCTION fairlead._first_id_after(instant timestamp with time zone, ended boolean) RETURNS bigint
    LANGUAGE plpgsql STABLE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
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

CREATE FUNCTION fairlead._fitting(sizes bigint[]) RETURNS integer
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    SET search_path TO 'pg_catalog', 'pg_temp'
    BEGIN ATOMIC
 SELECT (count(*) FILTER (WHERE ((f.reached - (f.size)::numeric) < (fairlead._bytes_at_once())::numeric)))::integer AS count
    FROM ( SELECT s.size,
             sum(s.size) OVER (ORDER BY s.place) AS reached
            FROM unnest(_fitting.sizes) WITH ORDINALITY s(size, place)) f;
END;

CREATE FUNCTION fairlead._follow_ups() RETURNS text[]
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
begin
    if not exists (
           select from fairlead.pool_logins l
           where pg_has_role(session_user, to_regrole(quote_ident(l.login)), 'member'))
       or fairlead._is_member('fairlead_enqueue') and not (select o.rls from fairlead.install_options o)
       or fairlead._administers()
    then
        return null;
    end if;
    return array(
        select distinct q.queue from fairlead.work_queue q
        where q.worker = any (array(
            select w.id from fairlead.worker_leases w
            where w.dead_at is null and (
                w.login = session_user
                or pg_has_role(session_user, to_regrole(quote_ident(w.login)), 'member')))));
end $$;

CREATE FUNCTION fairlead._forget_audit(my_epoch bigint, days integer, rows_max integer) RETURNS integer
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET enable_seqscan TO 'off'
    SET jit TO 'off'
    AS $$
declare
    deleted integer;
begin
    if not fairlead._leads(my_epoch) then
        return 0;
    end if;
    delete from fairlead.audit a
    where a.ctid = any (array(
        select o.ctid from fairlead.audit o
        where o.at < now() - make_interval(days => greatest(_forget_audit.days, 30))
        order by o.at, o.id limit least(_forget_audit.rows_max, 10000)
        for update skip locked));
    get diagnostics deleted = row_count;
    return deleted;
end $$;

CREATE FUNCTION fairlead._forget_batch_jobs(of_batch bigint, jobs_max integer) RETURNS integer
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
declare
    deleted integer;
begin
    delete from fairlead.batch_jobs m
    where m.batch = of_batch and m.place = any (array(
        select n.place from fairlead.batch_jobs n where n.batch = of_batch order by n.place limit jobs_max));
    get diagnostics deleted = row_count;
    return deleted;
end $$;

CREATE FUNCTION fairlead._forget_batches(my_epoch bigint, days integer, rows_max integer) RETURNS integer
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    SET jit TO 'off'
    AS $$
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

CREATE FUNCTION fairlead._forget_drains(my_epoch bigint) RETURNS SETOF text
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
begin
    if not fairlead._leads(my_epoch) then
        return;
    end if;
    return query
    delete from fairlead.pod_drains d
    where d.pod_uid in (
        select f.pod_uid from fairlead.pod_drains f
        where f.drain_until < now() - interval '1 hour' for update skip locked)
    returning d.pod_uid;
end $$;

CREATE FUNCTION fairlead._forget_periods(my_epoch bigint, rows_max integer) RETURNS integer
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET enable_seqscan TO 'off'
    SET jit TO 'off'
    AS $$
declare
    deleted integer;
begin
    if not exists (select from fairlead.unique_periods p where p.until <= now())
       or not fairlead._leads(my_epoch) then
        return 0;
    end if;
    delete from fairlead.unique_periods p
    where p.ctid = any (array(
        select o.ctid from fairlead.unique_periods o
        where o.until <= now() order by o.until limit least(_forget_periods.rows_max, 10000)
        for update skip locked));
    get diagnostics deleted = row_count;
    return deleted;
end $$;

CREATE FUNCTION fairlead._forget_progress(ids bigint[], tokens bigint[]) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    SET enable_mergejoin TO 'off'
    SET enable_sort TO 'off'
    SET plan_cache_mode TO 'force_generic_plan'
    SET jit TO 'off'
    AS $$
declare
    own constant bigint[] := fairlead._own(ids, tokens);
begin
    delete from fairlead.job_progress p
    where p.job_id = any (ids)
      and ((p.job_id, p.token) in (
          select a.job_id, a.token from unnest(ids, tokens, own) as a (job_id, token, held)
          where a.held is not null or not exists (
              select from fairlead.work_queue q
              where q.job_id = a.job_id and q.token = a.token offset 0))) is true;
end $$;

CREATE FUNCTION fairlead._has_history_partition(class text, day date) RETURNS boolean
    LANGUAGE sql STABLE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
    select exists (
        select from pg_inherits i
        where i.inhrelid = to_regclass(format('fairlead.%I', fairlead._history_partition(class, day)))
          and i.inhparent = to_regclass(format('fairlead.job_history_%s', class)))
$$;

CREATE FUNCTION fairlead._has_huge_number(value jsonb, written text) RETURNS boolean
    LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $_$
begin
    return written ~ '[0-9]{200}' and written ~ '([0-9]{200}){20}[0-9]' and jsonb_path_exists(
        value, 'strict $.** ? (@.type() == "number" && (@ >= 1e4000 || @ <= -1e4000))');
end $_$;

CREATE FUNCTION fairlead._has_room(queue text, tenant text, dedup_key text, retry_of bigint) RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET enable_seqscan TO 'off'
    SET jit TO 'off'
    AS $$
declare
    full_one fairlead.over_backlog;
begin
    if retry_of is not null then
        return true;
    end if;
    select o.* into full_one from fairlead.over_backlog o
    where o.queue = _has_room.queue and o.tenant = _has_room.tenant;
    if not found then
        select o.* into full_one from fairlead.over_backlog o
        where o.queue = _has_room.queue and o.tenant is null;
        if not found then
            return true;
        end if;
    end if;
    if not fairlead._sees(_has_room.tenant) or exists (
        select from fairlead.jobs j
        where j.queue = _has_room.queue and j.tenant = _has_room.tenant
          and j.dedup_key = _has_room.dedup_key)
    then
        return true;
    end if;
    raise exception 'fairlead: %queue % is at its backlog limit of % unfinished jobs: insert again when '
                    'some have ended, or raise backlog.limit in the policy',
        case when full_one.tenant is not null
             then 'tenant ' || quote_literal(full_one.tenant) || ' of ' else '' end,
        quote_literal(full_one.queue), full_one.backlog_limit
        using errcode = 'FL005', schema = 'fairlead', table = 'jobs',
              column = case when full_one.tenant is null then 'queue' else 'tenant' end,
              detail = format('Jobs are accepted again when %s are left.', full_one.reopens_at);
end $$;

CREATE FUNCTION fairlead._history_partition(class text, day date) RETURNS text
    LANGUAGE sql IMMUTABLE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
    select format('job_history_%s_%s', class, coalesce(to_char(day, 'YYYYMMDD'), 'default'))
$$;

CREATE FUNCTION fairlead._is_list(said anyarray) RETURNS boolean
    LANGUAGE sql IMMUTABLE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
    select cardinality(said) = 0 or array_ndims(said) = 1 and array_lower(said, 1) = 1
$$;

CREATE SEQUENCE fairlead.backlog_gate
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;

COMMENT ON SEQUENCE fairlead.backlog_gate IS 'No value while over_backlog is empty, else the bits of its rows (a filter as Bloom''s).';

CREATE FUNCTION fairlead._is_ordinary(queue text, tenant text, kind text, priority smallint, max_attempts integer, payload jsonb, retry_of bigint, run_at timestamp with time zone, expires_at timestamp with time zone, timeout interval, cost_hint interval, dedup_key text, headers jsonb) RETURNS boolean
    LANGUAGE sql
    RETURN ((num_nonnulls(run_at, expires_at, timeout, cost_hint, dedup_key, headers) = 0) AND ((octet_length(queue) >= 1) AND (octet_length(queue) <= 128)) AND (octet_length(tenant) <= 128) AND ((octet_length(kind) >= 1) AND (octet_length(kind) <= 128)) AND ((priority >= '-100'::integer) AND (priority <= 100)) AND ((COALESCE(max_attempts, 1) >= 1) AND (COALESCE(max_attempts, 1) <= 1000)) AND (octet_length((payload)::text) < 1000) AND ((pg_sequence_last_value('fairlead.backlog_gate'::regclass) IS NULL) OR ((pg_sequence_last_value('fairlead.backlog_gate'::regclass) & (fairlead._backlog_bit(queue) | fairlead._backlog_bit(((queue || '/'::text) || tenant)))) = 0) OR fairlead._has_room(queue, tenant, NULL::text, retry_of)));

CREATE FUNCTION fairlead._is_too_deep(value jsonb, written text) RETURNS boolean
    LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $_$
begin
    return octet_length(written) - octet_length(replace(replace(written, '[', ''), '{', '')) >= 500
       and jsonb_path_exists(value, '$.**{500}');
end $_$;

CREATE FUNCTION fairlead._join_batch() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET enable_seqscan TO 'off'
    SET jit TO 'off'
    AS $$
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

CREATE FUNCTION fairlead._keep_deadlines(ids bigint[], tokens bigint[], lease_seconds double precision) RETURNS SETOF bigint
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    SET enable_mergejoin TO 'off'
    SET enable_sort TO 'off'
    SET plan_cache_mode TO 'force_generic_plan'
    SET jit TO 'off'
    AS $$
declare
    own constant bigint[] := fairlead._own(ids, tokens);
begin
    return query
    update fairlead.work_queue q
    set alone = false, deadline = greatest(
        q.deadline, fairlead._deadline(greatest(q.timeout, interval '1 second' * least(lease_seconds, 3600))))
    where q.ctid = any (array(
        select w.ctid from fairlead.work_queue w
        where w.job_id = any (ids)
          and ((w.job_id, w.token) in (
              select a.job_id, a.held from unnest(ids, own) as a (job_id, held))) is true
        order by w.job_id for update skip locked))
    returning q.token;
end $$;

CREATE FUNCTION fairlead._scheduled_like(of_queue text, of_tenant text, rows_max integer, OUT ids bigint[], OUT complete boolean) RETURNS record
    LANGUAGE plpgsql STABLE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
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

CREATE FUNCTION fairlead._lane_jobs(of_queue text, of_tenant text, among_due boolean, among_scheduled boolean, rows_max integer, OUT ids bigint[], OUT complete boolean) RETURNS record
    LANGUAGE sql STABLE
    SET search_path TO 'pg_catalog', 'pg_temp'
    BEGIN ATOMIC
 SELECT (COALESCE(d.ids, '{}'::bigint[]) || COALESCE(s.ids, '{}'::bigint[])),
     (COALESCE(d.complete, true) AND COALESCE(s.complete, true))
    FROM ((( SELECT) one
      LEFT JOIN LATERAL ( SELECT f.ids,
             f.complete
            FROM fairlead._due_like(_lane_jobs.of_queue, _lane_jobs.of_tenant, _lane_jobs.rows_max) f(ids, complete)
           WHERE _lane_jobs.among_due) d ON (true))
      LEFT JOIN LATERAL ( SELECT f.ids,
             f.complete
            FROM fairlead._scheduled_like(_lane_jobs.of_queue, _lane_jobs.of_tenant, _lane_jobs.rows_max) f(ids, complete)
           WHERE _lane_jobs.among_scheduled) s ON (true));
END;

CREATE FUNCTION fairlead._last_fire(tenant text, schedule text) RETURNS timestamp with time zone
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
begin
    if not fairlead._reads_all() and not exists (
        select from fairlead.schedules s
        where s.tenant = _last_fire.tenant and s.name = _last_fire.schedule
          and fairlead._owns(s.tenant, s.created_by))
    then
        return null;
    end if;
    return (
        select f.fire_time from fairlead.schedule_fires f
        where f.tenant = _last_fire.tenant and f.schedule = _last_fire.schedule
        order by f.fire_time desc limit 1);
end $$;

CREATE FUNCTION fairlead._leader_fault(of_role text) RETURNS text
    LANGUAGE sql STABLE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
    select case
        when l.role is null then 'its row is missing'
        when l.epoch not between 0 and 1::bigint << 62 then format('its epoch is %s', l.epoch)
        when l.role = 'scheduler' and l.lease_until > clock_timestamp() + interval '10 minutes'
            then format('its lease ends at %s', l.lease_until)
    end
    from (values (of_role)) asked (role) left join fairlead.leaders l on l.role = asked.role
$$;

CREATE FUNCTION fairlead._leads(my_epoch bigint) RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
begin
    perform from fairlead.leaders l
    where l.role = 'scheduler' and l.epoch = my_epoch and l.timeline = fairlead._timeline()
      and (l.login is null or l.login = session_user or fairlead._acts_for(l.login)) for key share;
    return found;
end $$;

CREATE FUNCTION fairlead._leased(workers bigint[], claimed_until timestamp with time zone) RETURNS TABLE(job_id bigint, token bigint)
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    SET enable_mergejoin TO 'off'
    SET enable_sort TO 'off'
    SET plan_cache_mode TO 'force_generic_plan'
    SET jit TO 'off'
    AS $$
#variable_conflict use_column
begin
    return query
    select q.job_id, q.token from fairlead.work_queue q
    where q.worker = any (array(
        select w.id from fairlead.worker_leases w
        where w.id = any (workers) and fairlead._acts_for(w.login)))
      and q.claimed_at <= coalesce(claimed_until, 'infinity')
    order by q.job_id;
end $$;

CREATE FUNCTION fairlead._list_jobs(of_queue text, of_tenant text, of_kind text, in_state text, jobs_max integer, since timestamp with time zone, until timestamp with time zone, before_id bigint) RETURNS TABLE(id bigint, state text, queue text, tenant text, kind text, attempt integer, max_attempts integer, priority smallint, created_at timestamp with time zone, run_at timestamp with time zone, runnable_at timestamp with time zone, claimed_at timestamp with time zone, finished_at timestamp with time zone, progress real, error text, left_out text, go_on_before bigint)
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET enable_seqscan TO 'off'
    SET jit TO 'off'
    SET enable_bitmapscan TO 'off'
    SET enable_sort TO 'off'
    SET enable_indexscan TO 'on'
    SET enable_tidscan TO 'on'
    AS $_$
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
end $_$;

CREATE FUNCTION fairlead._lock_free(ids bigint[], tokens bigint[]) RETURNS TABLE(token bigint, free boolean)
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    SET enable_mergejoin TO 'off'
    SET enable_sort TO 'off'
    SET plan_cache_mode TO 'force_generic_plan'
    SET jit TO 'off'
    AS $$
#variable_conflict use_column
declare
    own constant bigint[] := fairlead._own(ids, tokens);
begin
    return query
    with held as materialized (
        select q.job_id from fairlead.work_queue q
        where q.job_id = any (ids)
          and ((q.job_id, q.token) in (
              select a.job_id, a.held from unnest(ids, own) as a (job_id, held))) is true
        for update skip locked
    ), mine as materialized (
        select j.id from fairlead.jobs j
        where j.id = any (array(select h.job_id from held h))
        for update skip locked
    )
    select q.token, q.job_id = any (array(
        select h.job_id from held h
        where h.job_id = any (array(select m.id from mine m))
           or not exists (select from fairlead.jobs j where j.id = h.job_id offset 0)))
    from fairlead.work_queue q
    where q.job_id = any (ids)
      and ((q.job_id, q.token) in (
          select a.job_id, a.held from unnest(ids, own) as a (job_id, held))) is true;
end $$;

CREATE FUNCTION fairlead._make_history_partitions(class text, days date[]) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
declare
    parent constant text := 'job_history_' || class;
    spare constant text := fairlead._history_partition(class, null);
    dated constant date[] := array_remove(days, null);
    day date;
begin
    execute format('lock table only fairlead.%I in share update exclusive mode', parent);
    if dated <> '{}' and fairlead._has_history_partition(class, null) then
        perform fairlead._try_lock(spare);
    end if;
    foreach day in array days loop
        perform fairlead._make_history_table(class, day);
        if day is null then
            execute format('alter table fairlead.%I attach partition fairlead.%I default', parent, spare);
            continue;
        end if;
        for pass in 1..5 loop
            exit when fairlead._move_late_endings(class, day) = 0;
        end loop;
    end loop;
    if dated <> '{}' then
        execute format('lock table only fairlead.%I in access exclusive mode', spare);
    end if;
    foreach day in array dated loop
        perform fairlead._move_late_endings(class, day);
    end loop;
    foreach day in array dated loop
        execute format(
            'alter table fairlead.%I attach partition fairlead.%I for values from (%L) to (%L)',
            parent, fairlead._history_partition(class, day),
            to_char(day, 'YYYY-MM-DD') || ' 00:00:00+00', to_char(day + 1, 'YYYY-MM-DD') || ' 00:00:00+00');
    end loop;
end $$;

CREATE FUNCTION fairlead._make_history_table(class text, day date) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
declare
    part constant text := fairlead._history_partition(class, day);
    history_owner constant name := (
        select pg_get_userbyid(c.relowner) from pg_class c where c.oid = 'fairlead.job_history'::regclass);
begin
    if to_regclass(format('fairlead.%I', part)) is null then
        execute format('create table fairlead.%I (like fairlead.job_history including all)', part);
        execute format(
            'alter table fairlead.%I alter payload set statistics 0, alter headers set statistics 0,'
            ' alter dedup_key set statistics 0, alter result set statistics 0, alter error set statistics 0', part);
    end if;
    if history_owner <> current_user then
        execute format('alter table fairlead.%I owner to %I', part, history_owner);
    end if;
end $$;

CREATE FUNCTION fairlead._mark_anew() RETURNS trigger
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
begin
    new.drained_at := null;
    return new;
end $$;

CREATE FUNCTION fairlead._may_enqueue(queue text, tenant text) RETURNS boolean
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
declare
    by_tenant constant boolean := (select o.rls from fairlead.install_options o);
begin
    if by_tenant and fairlead._sees(_may_enqueue.tenant) then
        return true;
    end if;
    return (not by_tenant or fairlead._is_member('fairlead_worker'))
       and coalesce(_may_enqueue.queue = any (fairlead._follow_ups()), true);
end $$;

CREATE FUNCTION fairlead._may_serve(pool text) RETURNS boolean
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
begin
    if not exists (select from fairlead.pool_logins) or fairlead._administers() then
        return true;
    end if;
    return coalesce((
        select bool_or(l.pool = _may_serve.pool) from fairlead.pool_logins l
        where pg_has_role(session_user, to_regrole(quote_ident(l.login)), 'member')), true);
end $$;

CREATE FUNCTION fairlead._missing_history_partitions(class text, days_ahead integer) RETURNS date[]
    LANGUAGE plpgsql STABLE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
declare
    today constant date := (now() at time zone 'UTC')::date;
    late date[];
begin
    if fairlead._has_history_partition(class, null) then
        execute format('select array_agg(distinct (h.finished_at at time zone ''UTC'')::date) from fairlead.%I h',
                       fairlead._history_partition(class, null)) into late;
    end if;
    return array(
        select m.day from (
            select null::date union select today + n from generate_series(-1, days_ahead) n
            union select unnest(late)) as m (day)
        where not fairlead._has_history_partition(class, m.day) order by m.day nulls first);
end $$;

CREATE FUNCTION fairlead._move_jobs(ids bigint[], priority integer) RETURNS bigint[]
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
declare
    changed bigint[];
begin
    with placed as materialized (
        select o.id, o.rank, case when o.run_at is null then nextval('fairlead.places') else o.seq end as place
        from (
            select j.id, j.rank, j.run_at, j.seq from fairlead.jobs j
            where j.id = any (ids) and j.priority <> _move_jobs.priority
              and j.id <> all (array(
                  select q.job_id from fairlead.work_queue q where q.job_id = any (ids) and q.worker is not null))
            order by j.seq, j.id offset 0) o
    ), moved as (
        update fairlead.jobs j set priority = _move_jobs.priority, seq = p.place
        from placed p where j.id = p.id and j.id = any (ids)
        returning j.id, j.queue, j.tenant, p.rank, j.run_at
    ), told as (
        insert into fairlead.receipts (moved)
        select jsonb_agg(jsonb_build_array(s.queue, s.tenant, s.rank, - _move_jobs.priority, s.ids))
        from (
            select n.hundred, n.queue, n.tenant, n.rank, jsonb_agg(n.id order by n.id) as ids
            from (
                select m.*, (row_number() over (order by m.queue, m.tenant, m.rank, m.id) - 1) / 100 as hundred
                from moved m where m.run_at is null) n
            group by n.hundred, n.queue, n.tenant, n.rank) s
        group by s.hundred
    )
    select coalesce(array_agg(m.id), '{}') into changed from moved m;
    perform fairlead._notify_scheduler('') where cardinality(changed) > 0;
    return changed;
end $$;

CREATE FUNCTION fairlead._move_late_endings(class text, day date) RETURNS bigint
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $_$
declare
    moved bigint;
begin
    execute format(
        'with moved as (delete from only fairlead.%I h'
        ' where (h.finished_at at time zone ''UTC'')::date = $1 returning h.*)'
        ' insert into fairlead.%I select m.* from moved m',
        fairlead._history_partition(class, null), fairlead._history_partition(class, day)) using day;
    get diagnostics moved = row_count;
    return moved;
end $_$;

CREATE FUNCTION fairlead._newest_batches(of_tenant text, in_state text, batches_max integer, before_id bigint, OUT ids bigint[], OUT go_on_before bigint) RETURNS record
    LANGUAGE plpgsql STABLE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $_$
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
end $_$;

CREATE FUNCTION fairlead._timeline() RETURNS integer
    LANGUAGE sql
    RETURN ((('x'::text || "left"(pg_walfile_name(pg_current_wal_lsn()), 8)))::bit(32))::integer;

CREATE FUNCTION fairlead._next_epoch(epoch bigint, timeline integer) RETURNS bigint
    LANGUAGE sql
    RETURN ((epoch + 1) + (GREATEST((fairlead._timeline() - timeline), 0) * '1000000000000'::bigint));

CREATE FUNCTION fairlead._notify(channel text, payload text) RETURNS boolean
    LANGUAGE sql
    RETURN CASE WHEN (pg_notification_queue_usage() < (0.5)::double precision) THEN (pg_notify(channel, payload) IS NOT NULL) ELSE false END;

CREATE FUNCTION fairlead._notify_scheduler(reason text) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
begin
    if coalesce(current_setting('fairlead.notify', true), '') not in ('off', 'false', 'no', '0') then
        perform fairlead._notify('fairlead_scheduler', reason);
    end if;
end $$;

CREATE FUNCTION fairlead._origins(ids bigint[], tokens bigint[]) RETURNS TABLE(id bigint, created_us bigint, token bigint, attempt integer, ended_as text)
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    SET enable_mergejoin TO 'off'
    SET enable_sort TO 'off'
    SET plan_cache_mode TO 'force_generic_plan'
    SET jit TO 'off'
    AS $$
#variable_conflict use_column
declare
    own constant bigint[] := fairlead._own(ids, tokens);
begin
    return query
    select a.id, fairlead._epoch_us(j.created_at), e.last[1], e.last[2]::integer,
           (array['failed', 'crashed', 'lost', 'released'])[e.last[3]]
    from unnest(ids, own) as a (id, held)
    cross join lateral (select j.created_at from fairlead.jobs j where j.id = a.id offset 0) j
    cross join lateral (
        select max(array[e.token, e.attempt,
                         case e.ended_as when 'failed' then 1 when 'crashed' then 2 when 'lost' then 3
                                         else 4 end]) as last
        from (
            select l.job_id, l.token, l.attempt, l.ended_as from fairlead.attempt_errors l
            where (l.job_id, l.at) <= (a.id, 'infinity') order by l.job_id desc, l.at desc limit 100) e
        where e.job_id = a.id and e.token is not null) e
    where a.held is not null;
end $$;

CREATE FUNCTION fairlead._own(ids bigint[], tokens bigint[]) RETURNS bigint[]
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    SET enable_mergejoin TO 'off'
    SET enable_sort TO 'off'
    SET plan_cache_mode TO 'force_generic_plan'
    SET jit TO 'off'
    AS $$
begin
    if cardinality(tokens) > 1 then
        if (select count(distinct t.token) < count(t.token) from (select unnest(tokens) as token) t) then
            tokens := array(
                select case when a.place = a.first then a.token end
                from (
                    select u.token, u.place, min(u.place) over (partition by u.job_id, u.token) as first
                    from unnest(ids, tokens) with ordinality as u (job_id, token, place)) a
                order by a.place);
        end if;
    end if;
    return array(
        select (
            select q.token from fairlead.work_queue q
            where q.job_id = a.job_id and q.token = a.token
              and fairlead._acts_for((
                  select w.login from fairlead.worker_leases w where w.id = q.worker)))
        from unnest(ids, tokens) as a (job_id, token));
end $$;

CREATE FUNCTION fairlead._own_database(release text) RETURNS text
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
declare
    found_owner text := (select max(l.release) from fairlead.leaders l);
begin
    if found_owner = '' and _own_database.release <> '' then
        update fairlead.leaders l set release = _own_database.release
        where l.role = (select max(o.role) from fairlead.leaders o) and l.release = '';
        if found and fairlead._administers() then
            perform fairlead._record_audit(
                'own_database', details => jsonb_build_object('to', _own_database.release));
        end if;
        -- A second statement, and so a new snapshot: another release may have been first.
        found_owner := (select max(l.release) from fairlead.leaders l);
    end if;
    if found_owner <> '' and exists (select from fairlead.leaders l where l.release = '') then
        update fairlead.leaders l set release = found_owner
        where l.role = any (array(
            select o.role from fairlead.leaders o where o.release = '' order by o.role
            for no key update skip locked));
    end if;
    return found_owner;
end $$;

CREATE FUNCTION fairlead._own_pool(pool text, release text) RETURNS text
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET lock_timeout TO '500ms'
    AS $$
declare
    found_owner text;
begin
    if not fairlead._may_serve(_own_pool.pool) then
        raise exception 'fairlead: login % may not serve pool %', session_user, _own_pool.pool
            using errcode = 'insufficient_privilege',
                  hint = 'fairlead.pool_logins lists the pools that it may serve.';
    end if;
    select p.release into found_owner from fairlead.pool_owners p where p.pool = _own_pool.pool;
    if found or _own_pool.release = '' then
        return coalesce(found_owner, '');
    end if;
    if exists (select from fairlead.pool_logins l where l.pool = _own_pool.pool)
       and not fairlead._administers()
       and not exists (
           select from fairlead.pool_logins l
           where l.pool = _own_pool.pool
             and pg_has_role(session_user, to_regrole(quote_ident(l.login)), 'member')) then
        return '';
    end if;
    begin
        insert into fairlead.pool_owners (pool, release) values (_own_pool.pool, _own_pool.release)
        on conflict on constraint pool_owners_pkey do nothing;
    exception when lock_not_available then
        return null;
    end;
    return coalesce((select p.release from fairlead.pool_owners p where p.pool = _own_pool.pool), '');
end $$;

CREATE FUNCTION fairlead._owns_all() RETURNS boolean
    LANGUAGE sql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    BEGIN ATOMIC
 SELECT (fairlead._administers() OR (EXISTS ( SELECT
            FROM pg_roles r
           WHERE ((r.rolname = ANY (ARRAY['fairlead_operator'::name, 'fairlead_scheduler'::name, 'fairlead_autoscaler'::name])) AND pg_has_role(SESSION_USER, r.oid, 'member'::text)))));
END;

CREATE TABLE fairlead.install_options (
    only_row boolean DEFAULT true NOT NULL,
    rls boolean DEFAULT false NOT NULL,
    policy_source text DEFAULT 'database'::text NOT NULL COLLATE pg_catalog."C",
    policy_place text DEFAULT ''::text NOT NULL,
    CONSTRAINT install_options_only_row_check CHECK (only_row),
    CONSTRAINT install_options_policy_place_is_at_most_512_bytes CHECK ((octet_length(policy_place) <= 512)),
    CONSTRAINT install_options_policy_source_is_database_or_configmap CHECK ((policy_source = ANY (ARRAY['database'::text, 'configmap'::text])))
);

COMMENT ON TABLE fairlead.install_options IS 'How this schema was installed.';

COMMENT ON COLUMN fairlead.install_options.policy_source IS 'Where the policy is edited: database, with fairlead policy apply; configmap, in the cluster, from where the autoscaler stores it.';

COMMENT ON COLUMN fairlead.install_options.policy_place IS 'What to edit, for people: the ConfigMap and its namespace; empty for database.';

CREATE TABLE fairlead.tenant_logins (
    login name NOT NULL,
    tenant text NOT NULL COLLATE pg_catalog."C"
);

COMMENT ON TABLE fairlead.tenant_logins IS 'The tenants of each login role, where row-level security is installed.';

CREATE FUNCTION fairlead._owns(of_tenant text, of_login text) RETURNS boolean
    LANGUAGE sql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    BEGIN ATOMIC
 SELECT (fairlead._owns_all() OR COALESCE(
         CASE
             WHEN o.rls THEN (EXISTS ( SELECT
                FROM fairlead.tenant_logins t
               WHERE ((t.login = SESSION_USER) AND (t.tenant = _owns.of_tenant))))
             ELSE (_owns.of_login = SESSION_USER)
         END, false))
    FROM fairlead.install_options o
   WHERE o.only_row;
END;

CREATE FUNCTION fairlead._owns_batch(of_tenant text, of_login text) RETURNS boolean
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
begin
    return of_login = session_user and not (select o.rls from fairlead.install_options o)
        or of_login = session_user and fairlead._is_member('fairlead_worker')
        or fairlead._owns(of_tenant, of_login);
end $$;

CREATE FUNCTION fairlead._pass_over(worker bigint, full_kinds text[], jobs_max integer) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    SET enable_mergejoin TO 'off'
    SET enable_sort TO 'off'
    SET plan_cache_mode TO 'force_generic_plan'
    SET jit TO 'off'
    AS $$
#variable_conflict use_column
begin
    insert into fairlead.receipts (worker, passed_over)
    select _pass_over.worker, array_agg(p.job_id)
    from (
        select q.job_id
        from fairlead.worker_leases m cross join lateral (
            select w.job_id
            from fairlead.claim_floors f cross join lateral (
                select w.job_id from fairlead.work_queue w
                where w.pool = f.pool and w.band = f.band and w.band >= 0 and w.worker is null
                  and w.vtag >= f.vtag
                  and (select j.kind from fairlead.jobs j where j.id = w.job_id)
                      = any (_pass_over.full_kinds)
                order by w.vtag, w.job_id limit _pass_over.jobs_max) w
            where f.pool = m.pool
            limit _pass_over.jobs_max) q
        where m.id = _pass_over.worker and fairlead._acts_for(m.login)) p
    having count(*) > 0;
end $$;

CREATE FUNCTION fairlead._policy_versions_stay() RETURNS trigger
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
begin
    raise exception 'fairlead: stored policies stay as they are: store a new version'
        using errcode = 'insufficient_privilege';
end $$;

CREATE FUNCTION fairlead._predecessors(name text, pod_uid text) RETURNS SETOF bigint
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    SET enable_mergejoin TO 'off'
    SET enable_sort TO 'off'
    SET plan_cache_mode TO 'force_generic_plan'
    SET jit TO 'off'
    AS $$
begin
    return query
    select w.id from fairlead.worker_leases w
    where w.dead_at is null and w.name = _predecessors.name
      and w.pod_uid is not distinct from _predecessors.pod_uid and fairlead._acts_for(w.login)
    order by w.id;
end $$;

CREATE FUNCTION fairlead._raise_stale(job_id bigint, token bigint) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
begin
    raise exception 'fairlead: token % no longer holds job %', token, job_id
        using errcode = 'FL001',
              hint = 'The lease was lost; another worker has the job or it has ended. Roll back.';
end $$;

CREATE FUNCTION fairlead._read_bytes(said text) RETURNS bigint
    LANGUAGE plpgsql IMMUTABLE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
begin
    return octet_length(said::jsonb::text);
exception when program_limit_exceeded or out_of_memory then
    return 1 << 30;
end $$;

CREATE FUNCTION fairlead._read_claimed(jobs bigint[]) RETURNS TABLE(job_id bigint, kind text, payload text, headers text, attempts integer, max_attempts integer, cancel_requested_at timestamp with time zone, expires_at timestamp with time zone, checkpoint text)
    LANGUAGE plpgsql STABLE
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET enable_nestloop TO 'off'
    AS $$
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
        bytes_left := bytes_left - coalesce(octet_length(payload), 0) - coalesce(octet_length(headers), 0)
                      - coalesce(octet_length(checkpoint), 0);
        exit when bytes_left < 0 and not is_first;
        is_first := false;
        return next;
    end loop;
end $$;

CREATE FUNCTION fairlead._read_mark(pod_uid text, OUT holds boolean, OUT drained boolean) RETURNS record
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    SET enable_mergejoin TO 'off'
    SET enable_sort TO 'off'
    SET plan_cache_mode TO 'force_generic_plan'
    SET jit TO 'off'
    AS $$
begin
    update fairlead.pod_drains d
    set drained_at = case when d.drain_until > now() then d.drained_at end
    where d.pod_uid = any (array(
        select f.pod_uid from fairlead.pod_drains f where f.pod_uid = _read_mark.pod_uid
        for no key update skip locked))
    returning d.drain_until > now(), d.drained_at is not null into holds, drained;
    if not found then
        select d.drain_until > now() - interval '10 seconds', d.drained_at is not null into holds, drained
        from fairlead.pod_drains d where d.pod_uid = _read_mark.pod_uid;
    end if;
end $$;

CREATE FUNCTION fairlead._readable_breakers(said jsonb) RETURNS jsonb
    LANGUAGE plpgsql IMMUTABLE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $_$
begin
    return case when octet_length(said::text) <= 32768 and jsonb_typeof(said) = 'array'
                     and not jsonb_path_exists(said, '$[100]')
                     and not jsonb_path_exists(said, 'strict $[*] ? (!(@.type() == "array" && @.size() == 2
                         && @[0].type() == "string" && @[1].type() == "string"))')
                then said end;
end $_$;

CREATE FUNCTION fairlead._reads_all() RETURNS boolean
    LANGUAGE sql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    BEGIN ATOMIC
 SELECT (fairlead._owns_all() OR fairlead._is_member('fairlead_viewer'::text) OR ((NOT o.rls) AND fairlead._is_member('fairlead_reader'::text)))
    FROM fairlead.install_options o
   WHERE o.only_row;
END;

CREATE FUNCTION fairlead._recall(my_epoch bigint, ids bigint[]) RETURNS SETOF bigint
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
declare
    mine bigint[];
    unwanted bigint[];
    free bigint[];
begin
    perform fairlead._require_read_committed();
    if not fairlead._leads(my_epoch) then
        return;
    end if;
    select array_agg(s.id), array_agg(s.id) filter (where s.ends) into mine, unwanted
    from (
        select l.id, l.ends, sum(l.bytes) over (rows unbounded preceding) - l.bytes as before
        from (
            select j.id, j.cancel_requested_at is not null as ends,
                   case when j.cancel_requested_at is null then 0
                        else fairlead._stored_bytes(j.payload, j.headers, j.last_error) end as bytes
            from fairlead.jobs j where j.id = any (ids) order by j.id for update skip locked) l) s
    where not s.ends or s.before < fairlead._bytes_at_once();
    select array_agg(l.job_id), array_agg(l.job_id) filter (where l.job_id = any (unwanted))
    into free, unwanted
    from (
        select q.job_id from fairlead.work_queue q
        where q.job_id = any (mine) and q.worker is null order by q.job_id
        for update skip locked) l;
    if unwanted is not null then
        perform fairlead._end_unstarted(unwanted, 'cancelled');
    end if;
    return query
    delete from fairlead.work_queue q where q.job_id = any (free) returning q.job_id;
end $$;

CREATE FUNCTION fairlead._record_audit(verb text, job_id bigint DEFAULT NULL::bigint, queue text DEFAULT NULL::text, tenant text DEFAULT NULL::text, schedule text DEFAULT NULL::text, version bigint DEFAULT NULL::bigint, details jsonb DEFAULT NULL::jsonb, reason text DEFAULT NULL::text, actor text DEFAULT NULL::text) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
begin
    if job_id is not null and queue is null then
        select j.queue, j.tenant into queue, tenant from fairlead.jobs j where j.id = _record_audit.job_id;
    end if;
    insert into fairlead.audit (verb, job_id, queue, tenant, schedule, version, details, reason, actor)
    values (_record_audit.verb, _record_audit.job_id, _record_audit.queue, _record_audit.tenant,
            _record_audit.schedule, _record_audit.version, _record_audit.details,
            left(coalesce(nullif(current_setting('fairlead.reason', true), ''),
                          nullif(_record_audit.reason, '')), 1024),
            left(coalesce(nullif(current_setting('fairlead.actor', true), ''),
                          nullif(_record_audit.actor, '')), 128));
end $$;

CREATE FUNCTION fairlead._record_for_another(verb text, job_id bigint, login name) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
begin
    if not coalesce(pg_has_role(session_user, to_regrole(quote_ident(login)), 'member'), false) then
        perform fairlead._record_audit(
            _record_for_another.verb, job_id => _record_for_another.job_id,
            details => jsonb_build_object('of', _record_for_another.login));
    end if;
end $$;

CREATE FUNCTION fairlead._record_schedules(verb text, tenants text[], names text[], queues text[], details jsonb DEFAULT NULL::jsonb) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
declare
    several constant boolean := cardinality(names) > 1;
    tenant constant text := case when tenants[1] = all (tenants) then tenants[1] end;
begin
    for place in 1..cardinality(names) by 100 loop
        perform fairlead._record_audit(
            _record_schedules.verb,
            queue => case when queues[1] = all (queues) then queues[1] end,
            tenant => tenant,
            schedule => case when not several then names[1] end,
            details => case when not several then _record_schedules.details else
                coalesce(_record_schedules.details, '{}') || jsonb_strip_nulls(jsonb_build_object(
                    'schedules', cardinality(names), 'names', names[place:place + 99],
                    'tenants', case when tenant is null then tenants[place:place + 99] end)) end);
    end loop;
end $$;

CREATE FUNCTION fairlead._redrive(queue text, tenant text, kind text, after_at timestamp with time zone, after_id bigint, jobs_max integer, OUT made integer, OUT reached_at timestamp with time zone, OUT reached_id bigint, OUT made_bytes bigint) RETURNS record
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET enable_seqscan TO 'off'
    SET enable_sort TO 'off'
    SET jit TO 'off'
    AS $$
declare
    looked_max constant integer := 10000;
    old_ids bigint[];
    new_ids bigint[];
    first_at timestamptz;
    last_at timestamptz;
begin
    perform fairlead._require_read_committed();
    -- One redrive at a time, so that two cannot wait for each other's dedup keys. The next statement's
    -- snapshot has all that an earlier one made. Nobody but the owner can lock this row.
    perform from fairlead.schema_versions v where v.version = 1 for no key update;
    with looked as materialized (
        select h.id, h.finished_at, h.tenant, h.kind, h.dedup_key, h.payload is not null as kept,
               fairlead._stored_bytes(h.payload, h.headers, h.error) as bytes
        from fairlead.job_history_unsuccessful h
        where h.outcome = 'failed' and h.retried_as is null and h.queue = _redrive.queue
          and h.finished_at >= _redrive.after_at
          and (h.finished_at, h.id) > (_redrive.after_at, _redrive.after_id)
        order by h.finished_at, h.id limit looked_max
    ), found as materialized (
        select l.id, l.finished_at, l.bytes from looked l
        where l.kept and (_redrive.tenant is null or l.tenant = _redrive.tenant)
          and (_redrive.kind is null or l.kind = _redrive.kind) and fairlead._sees(l.tenant)
          and not exists (
              select from fairlead.jobs k
              where k.queue = _redrive.queue and k.tenant = l.tenant and k.dedup_key = l.dedup_key
              offset 0)
        limit _redrive.jobs_max
    ), picked as materialized (
        select s.id, s.finished_at from (
            select f.*, sum(f.bytes) over (rows unbounded preceding) - f.bytes as before from found f) s
        where s.before < fairlead._bytes_at_once()
    )
    select p.ids, p.first_at, p.last_at, e.finished_at, e.id
    into old_ids, first_at, last_at, reached_at, reached_id
    from (select array_agg(p.id) as ids, min(p.finished_at) as first_at, max(p.finished_at) as last_at,
                 count(*) >= _redrive.jobs_max or count(*) < (select count(*) from found) as full
          from picked p) p
    left join lateral (
        (select k.finished_at, k.id from picked k
         where p.full order by k.finished_at desc, k.id desc limit 1)
        union all
        (select l.finished_at, l.id from looked l
         where not p.full and (select count(*) from looked) = looked_max
         order by l.finished_at desc, l.id desc limit 1)) e on true;
    with inserted as (
        insert into fairlead.jobs (
            queue, tenant, kind, payload, priority, dedup_key, max_attempts, timeout, cost_hint,
            headers, retry_of, enqueued_by)
        select h.queue, h.tenant, h.kind, h.payload, h.priority, h.dedup_key, h.max_attempts,
               h.timeout, h.cost_hint, h.headers, h.id, h.enqueued_by
        from (
            -- One that is locked is being retried.
            select * from fairlead.job_history_unsuccessful u
            where u.id = any (old_ids) and u.finished_at >= first_at and u.finished_at <= last_at
              and u.outcome = 'failed' and u.retried_as is null
            order by u.finished_at, u.id
            for update skip locked) h
        on conflict do nothing
        returning id, retry_of, fairlead._stored_bytes(payload, headers, null) as bytes
    )
    select array_agg(i.retry_of order by i.retry_of), array_agg(i.id order by i.retry_of), count(*),
           coalesce(sum(i.bytes), 0)
    into old_ids, new_ids, made, made_bytes
    from inserted i;
    -- Each finds the job that repeats it by its place among the sorted ids.
    update fairlead.job_history_unsuccessful h
    set retried_as = new_ids[width_bucket(h.id, old_ids)]
    where h.id = any (old_ids) and h.finished_at >= first_at and h.finished_at <= last_at
      and h.outcome = 'failed';
    if made > 0 then
        perform fairlead._record_audit(
            'redrive', queue => _redrive.queue, tenant => _redrive.tenant,
            details => jsonb_strip_nulls(jsonb_build_object('kind', _redrive.kind, 'jobs', made)));
    end if;
end $$;

CREATE FUNCTION fairlead._refuse_truncation() RETURNS trigger
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
begin
    raise exception 'fairlead: jobs is never truncated: its attempts would run on under ids that are given out again'
        using errcode = 'insufficient_privilege',
              hint = 'Cancel jobs with fairlead.cancel(id); DELETE FROM fairlead.jobs clears a database of tests.';
end $$;

CREATE FUNCTION fairlead._release(ids bigint[], tokens bigint[], run_us bigint[] DEFAULT NULL::bigint[]) RETURNS TABLE(job_id bigint, token bigint)
    LANGUAGE sql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET enable_seqscan TO 'off'
    SET jit TO 'off'
    SET enable_tidscan TO 'on'
    BEGIN ATOMIC
 WITH asked AS MATERIALIZED (
          SELECT a.job_id,
             a.token,
             a.run_us
            FROM UNNEST(_release.ids, _release.tokens, _release.run_us) a(job_id, token, run_us)
         ), released AS (
          DELETE FROM fairlead.work_queue q
           WHERE (q.ctid = ANY (ARRAY( SELECT w.ctid
                    FROM fairlead.work_queue w
                   WHERE ((w.job_id = ANY (_release.ids)) AND (((w.job_id, w.token) IN ( SELECT a.job_id,
                             a.token
                            FROM asked a)) IS TRUE) AND (NOT (EXISTS ( SELECT
                            FROM fairlead.jobs j
                           WHERE (j.id = w.job_id)
                          OFFSET 0))))
                   ORDER BY w.job_id
                  FOR UPDATE OF w SKIP LOCKED)))
           RETURNING q.job_id,
             q.token,
             q.claimed_at
         ), receipt AS (
          INSERT INTO fairlead.receipts (ended, run_us)  SELECT array_agg(r_1.job_id) AS array_agg,
                     array_agg(fairlead._charged_us(a.run_us, r_1.claimed_at)) AS array_agg
                    FROM (released r_1
                      JOIN asked a ON (((a.job_id = r_1.job_id) AND (a.token = r_1.token))))
                  HAVING (count(*) > 0)
         )
  SELECT r.job_id,
     r.token
    FROM released r;
END;

CREATE FUNCTION fairlead._release_jobs(worker bigint, after_id bigint, jobs_max integer) RETURNS TABLE(job_id bigint, became text)
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
#variable_conflict use_column
declare
    ids bigint[];
    ends text[];
begin
    select array_agg(e.job_id), array_agg(e.became) into ids, ends
    from (
        select array_agg(h.job_id order by h.job_id) as ids,
               array_agg(h.token order by h.job_id) as tokens, count(*)::integer as jobs
        from (
            select q.job_id, q.token from fairlead.work_queue q
            where q.worker = _release_jobs.worker and q.job_id > _release_jobs.after_id and exists (
                select from fairlead.worker_leases w
                where w.id = _release_jobs.worker and w.dead_at is not null)
            order by q.job_id limit _release_jobs.jobs_max) h
    ) held
    cross join lateral fairlead._end_attempts(
        held.ids, held.tokens, array_fill('released'::text, array[held.jobs]),
        array_fill('its worker was released by hand'::text, array[held.jobs]),
        array_fill(null::interval, array[held.jobs]), true) e
    where held.jobs > 0;
    perform fairlead._record_audit('release_jobs', details => jsonb_build_object(
        'worker', _release_jobs.worker, 'jobs', count(*)))
    from unnest(ends) b (became) where b.became not in ('stale', 'locked') having count(*) > 0;
    return query select u.job_id, u.became from unnest(ids, ends) u (job_id, became);
end $$;

CREATE FUNCTION fairlead._release_leadership(my_epoch bigint) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
begin
    update fairlead.leaders l set lease_until = '-infinity'
    where l.role = 'scheduler' and l.epoch = my_epoch and (l.login is null or fairlead._acts_for(l.login));
    if found then
        perform fairlead._end_notifications();
        perform fairlead._notify('fairlead_leader', my_epoch::text);
    end if;
end $$;

CREATE FUNCTION fairlead._release_worker(worker bigint) RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
declare
    was_live boolean;
begin
    update fairlead.worker_leases w set dead_at = clock_timestamp()
    where w.id = _release_worker.worker and w.dead_at is null;
    was_live := found;
    if was_live or exists (select from fairlead.work_queue q where q.worker = _release_worker.worker) then
        perform fairlead._record_audit('release_worker', details => (
            select jsonb_build_object('worker', w.id, 'name', w.name, 'pool', w.pool)
            from fairlead.worker_leases w where w.id = _release_worker.worker));
    end if;
    return was_live;
end $$;

CREATE FUNCTION fairlead._renew_leadership(my_epoch bigint, lease_seconds double precision) RETURNS bigint
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
begin
    perform fairlead._check_leader('-', lease_seconds);
    update fairlead.leaders l
    set lease_until = now() + make_interval(secs => lease_seconds)
    where l.role = 'scheduler' and l.epoch = my_epoch and l.timeline = fairlead._timeline()
      and l.lease_until > '-infinity' and (l.login is null or fairlead._acts_for(l.login));
    return case when found then my_epoch end;
end $$;

CREATE FUNCTION fairlead._replace(wanted fairlead.jobs, debounce interval, debounce_max interval, OUT id bigint, OUT became text) RETURNS record
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET enable_seqscan TO 'off'
    SET jit TO 'off'
    SET enable_tidscan TO 'on'
    AS $$
declare
    old fairlead.jobs;
    free boolean := true;
    asked_at timestamptz;
    runs_at timestamptz;
begin
    select j.* into old from fairlead.jobs j
    where j.queue = wanted.queue and j.tenant = wanted.tenant and j.dedup_key = wanted.dedup_key
    for update;
    if not found then
        return;
    end if;
    if (fairlead._owns(old.tenant, old.enqueued_by)
        or old.enqueued_by = session_user and fairlead._is_member('fairlead_worker')) is not true then
        raise exception 'fairlead: the job with this dedup_key in queue % of tenant % is not login %''s to replace: '
                        'give another key, or enqueue without replace and debounce',
            quote_literal(old.queue), quote_literal(old.tenant), session_user
            using errcode = 'insufficient_privilege';
    end if;
    -- A second statement, and so a new snapshot: a dispatch that held the job is visible now.
    if exists (select from fairlead.work_queue q where q.job_id = old.id) then
        select q.worker is null into free from fairlead.work_queue q
        where q.job_id = old.id for update skip locked;
    end if;
    if old.enqueued_by is distinct from session_user then
        perform fairlead._record_audit('replace', job_id => old.id);
    end if;
    asked_at := clock_timestamp();
    -- It runs, or is being claimed: its attempt goes on with what it has read, and is its last one. What comes back
    -- of it finds that it has expired, so nothing old runs behind what is new.
    if free is not true then
        update fairlead.jobs j
        set dedup_key = null, expires_at = least(j.expires_at, asked_at) where j.id = old.id;
        became := 'follows';
        return;
    end if;
    became := 'replaced';
    runs_at := case when debounce is null then wanted.run_at
                    when old.run_at is not null then least(asked_at + debounce, old.created_at + debounce_max) end;
    -- The leader has read nothing of a job that waits for its time: it is changed. Its batch has a note of it and keeps
    -- it, so one that is to be in another batch is another job.
    if old.run_at is not null and (wanted.batch is null or wanted.batch is not distinct from old.batch) then
        runs_at := greatest(asked_at, runs_at);
        update fairlead.jobs j
        set kind = wanted.kind, payload = wanted.payload, priority = wanted.priority, run_at = runs_at,
            expires_at = wanted.expires_at, max_attempts = wanted.max_attempts, timeout = wanted.timeout,
            cost_hint = wanted.cost_hint, headers = wanted.headers, attempts = 0, crashes = 0, losses = 0,
            lone_deaths = 0, suspect = false, last_error = null, checkpoint = null
        where j.id = old.id;
        if runs_at < old.run_at then
            perform fairlead._notify_scheduler('');
        end if;
        id := old.id;
        return;
    end if;
    -- The leader may have read the payload of one that is due, for a key or a rule, and remembers that by its id. So
    -- another job takes its place in the lane. It passes the backlog limit like a repeat: there are no more jobs.
    runs_at := case when runs_at > asked_at then runs_at end;
    insert into fairlead.jobs as j (
        queue, tenant, kind, payload, priority, run_at, expires_at, max_attempts, timeout, cost_hint, headers,
        batch, enqueued_by, retry_of, created_at, due_at, seq)
    values (old.queue, old.tenant, wanted.kind, wanted.payload, wanted.priority, runs_at, wanted.expires_at,
            wanted.max_attempts, wanted.timeout, wanted.cost_hint, wanted.headers, wanted.batch, old.enqueued_by,
            old.id, old.created_at,
            case when runs_at is null then case when old.run_at is null then old.due_at else asked_at end end,
            case when runs_at is null and old.run_at is null then old.seq else nextval('fairlead.places') end)
    returning j.id into id;
    perform fairlead._end_unstarted(array[old.id], 'cancelled', array[format('replaced by job %s', id)]);
    update fairlead.jobs j set dedup_key = old.dedup_key, retry_of = null where j.id = _replace.id;
end $$;

CREATE FUNCTION fairlead._require_read_committed() RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
begin
    if current_setting('transaction_isolation') <> 'read committed' then
        raise exception 'fairlead: this function needs READ COMMITTED, the transaction is %',
            upper(current_setting('transaction_isolation'))
            using errcode = 'FL003',
                  hint = 'Call it in a transaction of its own that is begun as READ COMMITTED.';
    end if;
end $$;

CREATE FUNCTION fairlead._runs_in_batch(of_batch bigint) RETURNS boolean
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    SET jit TO 'off'
    AS $$
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

CREATE FUNCTION fairlead._scan_from(us bigint) RETURNS timestamp with time zone
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN CASE WHEN (us > 0) THEN to_timestamp(((us)::double precision / ('1000000'::numeric)::double precision)) ELSE '-infinity'::timestamp with time zone END;

CREATE FUNCTION fairlead._sees_all() RETURNS boolean
    LANGUAGE sql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    BEGIN ATOMIC
 SELECT ((NOT o.rls) OR fairlead._owns_all())
    FROM fairlead.install_options o
   WHERE o.only_row;
END;

CREATE FUNCTION fairlead._sees(of_tenant text) RETURNS boolean
    LANGUAGE sql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    BEGIN ATOMIC
 SELECT (fairlead._sees_all() OR (EXISTS ( SELECT
            FROM fairlead.tenant_logins t
           WHERE ((t.login = SESSION_USER) AND (t.tenant = _sees.of_tenant)))));
END;

CREATE FUNCTION fairlead._set_priorities(priority integer, queue text, tenant text, kind text, after_id bigint, jobs_max integer, OUT changed integer, OUT running integer, OUT locked integer, OUT reached_id bigint) RETURNS record
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET enable_seqscan TO 'off'
    SET jit TO 'off'
    SET enable_bitmapscan TO 'off'
    SET enable_indexscan TO 'on'
    AS $$
declare
    looked_max constant integer := 10000;
    wanted constant integer := least(greatest(_set_priorities.jobs_max, 0), looked_max);
    ids bigint[];
begin
    perform fairlead._require_read_committed();
    perform fairlead._check_priority(_set_priorities.priority);
    if coalesce(_set_priorities.queue, _set_priorities.tenant, _set_priorities.kind) is null then
        raise exception 'fairlead: name a queue, a tenant or a kind whose jobs to change'
            using errcode = 'null_value_not_allowed';
    end if;
    with looked as materialized (
        select j.id, j.queue, j.tenant, j.kind, j.priority
        from fairlead.jobs j
        where j.id > coalesce(_set_priorities.after_id, 0) order by j.id limit looked_max
    ), alike as materialized (
        select l.id, exists (
                   select from fairlead.work_queue q
                   where q.job_id = l.id and q.worker is not null offset 0) as runs
        from looked l
        where l.priority <> _set_priorities.priority
          and (_set_priorities.queue is null or l.queue = _set_priorities.queue)
          and (_set_priorities.tenant is null or l.tenant = _set_priorities.tenant)
          and (_set_priorities.kind is null or l.kind = _set_priorities.kind)
    ), picked as materialized (
        select a.id from alike a where not a.runs order by a.id limit wanted
    )
    select p.ids,
           case when p.many >= wanted then p.last
                when (select count(*) from looked) = looked_max then (select max(l.id) from looked l) end,
           (select count(*) from alike a where a.runs and (p.many < wanted or a.id < p.last))
    into ids, reached_id, running
    from (select coalesce(array_agg(k.id), '{}') as ids, count(*) as many, max(k.id) as last from picked k) p;

    locked := cardinality(ids);
    ids := array(select j.id from fairlead.jobs j where j.id = any (ids) order by j.id for update skip locked);
    locked := locked - cardinality(ids);
    changed := cardinality(fairlead._move_jobs(ids, _set_priorities.priority));
    -- The others were claimed, or changed by another call, since they were looked at.
    perform fairlead._record_audit(
        'set_priorities', queue => coalesce(_set_priorities.queue, ''), tenant => _set_priorities.tenant,
        details => jsonb_strip_nulls(jsonb_build_object(
            'kind', _set_priorities.kind, 'priority', _set_priorities.priority, 'jobs', changed)))
    where changed > 0;
end $$;

CREATE FUNCTION fairlead._settle_batches(my_epoch bigint, after_id bigint, batches_max integer, jobs_max integer, open_days integer, OUT completed integer, OUT refused integer, OUT more boolean, OUT reached_id bigint) RETURNS record
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    SET plan_cache_mode TO 'force_generic_plan'
    SET jit TO 'off'
    AS $$
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

CREATE FUNCTION fairlead._sources(ids bigint[], tokens bigint[]) RETURNS TABLE(id bigint, kind text, tenant text, crashes integer)
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    SET enable_mergejoin TO 'off'
    SET enable_sort TO 'off'
    SET plan_cache_mode TO 'force_generic_plan'
    SET jit TO 'off'
    AS $$
#variable_conflict use_column
declare
    own constant bigint[] := fairlead._own(ids, tokens);
begin
    return query
    select j.id, j.kind, j.tenant, j.crashes
    from unnest(ids, own) as a (id, held)
    cross join lateral (
        select j.id, j.kind, j.tenant, j.crashes from fairlead.jobs j where j.id = a.id offset 0) j
    where a.held is not null;
end $$;

CREATE FUNCTION fairlead._span_us(span interval) RETURNS bigint
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN CASE WHEN (span IS NOT NULL) THEN (LEAST(GREATEST((date_part('epoch'::text, span) * ('1000000'::numeric)::double precision), (1)::double precision), ('2592000000000'::bigint)::double precision))::bigint ELSE NULL::bigint END;

CREATE FUNCTION fairlead._steal(my_epoch bigint, ids bigint[], tokens bigint[], errors text[]) RETURNS TABLE(job_id bigint, token bigint, became text)
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
begin
    if ids is null or not fairlead._leads(my_epoch) then
        return;
    end if;
    return query
    select e.* from fairlead._end_attempts(
        ids, tokens, array_fill('lost'::text, array[cardinality(ids)]), errors,
        array_fill(null::interval, array[cardinality(ids)]), true) e
    where e.became not in ('stale', 'locked');
end $$;

CREATE FUNCTION fairlead._stored_bytes(payload jsonb, headers jsonb, error text) RETURNS bigint
    LANGUAGE sql STABLE PARALLEL SAFE
    RETURN (((COALESCE(pg_column_size(payload), 0))::bigint + COALESCE(pg_column_size(headers), 0)) + COALESCE(pg_column_size(error), 0));

CREATE FUNCTION fairlead._take_over(release text) RETURNS text
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
declare
    former text;
begin
    perform from fairlead.leaders l order by l.role for update;
    select max(l.release) into former from fairlead.leaders l;
    if former = _take_over.release then
        return former;
    end if;
    -- A new epoch: what the former owner's leaders still write changes nothing.
    update fairlead.leaders l
    set release = _take_over.release, epoch = l.epoch + 1, lease_until = '-infinity';
    update fairlead.pool_owners p set release = _take_over.release, since = now()
    where p.release = former;
    perform fairlead._record_audit(
        'take_over', details => jsonb_build_object('from', former, 'to', _take_over.release));
    perform fairlead._notify('fairlead_leader', '');
    return former;
end $$;

CREATE FUNCTION fairlead._take_schedule() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
declare
    switched constant boolean :=
        (old.cron, old.timezone, old.missed, old.queue, old.kind, old.payload, old.priority, old.max_attempts,
         old.timeout, old.expires_in, old.headers)
        is not distinct from
        (new.cron, new.timezone, new.missed, new.queue, new.kind, new.payload, new.priority, new.max_attempts,
         new.timeout, new.expires_in, new.headers);
begin
    if not (fairlead._administers() or switched and fairlead._owns_all()) then
        new.created_by := session_user;
    end if;
    return new;
end $$;

CREATE FUNCTION fairlead._tell_waiting(ids bigint[]) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
begin
    if pg_sequence_last_value('fairlead.awaited_until') > date_part('epoch', clock_timestamp())
       and coalesce(current_setting('fairlead.notify', true), '') not in ('off', 'false', 'no', '0')
    then
        perform fairlead._notify('fairlead_ended', w.job_id::text)
        from fairlead.waits w
        where w.job_id = any (ids) and w.until > clock_timestamp();
    end if;
end $$;

CREATE FUNCTION fairlead._timeline_base() RETURNS bigint
    LANGUAGE sql
    RETURN ((fairlead._timeline() - 1) * '1000000000000'::bigint);

CREATE FUNCTION fairlead._try_lock(part text) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
begin
    execute format('lock table only fairlead.%I in access exclusive mode', part);
    raise exception 'fairlead: given back';
exception when raise_exception then
    null;
end $$;

CREATE FUNCTION fairlead._unfinished() RETURNS boolean
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    SET enable_mergejoin TO 'off'
    SET enable_sort TO 'off'
    SET plan_cache_mode TO 'force_generic_plan'
    SET jit TO 'off'
    AS $$
begin
    return exists (select from fairlead.jobs j where j.run_at is null)
        or exists (
            select from fairlead.jobs j
            where j.run_at is not null and (j.due_at is not null or j.run_at <= now())
            order by j.run_at);
end $$;

CREATE FUNCTION fairlead._unique_fault(dedup_key text, run_at timestamp with time zone, replaces boolean, debounce interval, debounce_max interval, unique_for interval) RETURNS text
    LANGUAGE sql STABLE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
    select case
        when not replaces and debounce_max is null and unique_for is null then null
        when debounce is null and debounce_max is not null
            then format('debounce_max is %s without a debounce: give both, or neither', debounce_max)
        when replaces and unique_for is not null
            then format('unique_for is %s beside replace or debounce: a job is kept or replaced, so give one of them',
                        unique_for)
        when debounce is not null and run_at is not null
            then format('run_at is %s beside debounce, which says when the job runs: give one of them', run_at)
        when debounce not between interval '1 ms' and interval '30 days'
            then format('debounce is %s: give 1 ms to 30 days', debounce)
        when debounce_max not between debounce and interval '365 days'
            then format('debounce_max is %s: give %s, which is debounce, to 365 days', debounce_max, debounce)
        when unique_for not between interval '1 s' and interval '31 days'
            then format('unique_for is %s: give 1 s to 31 days', unique_for)
        when dedup_key is null
            then format('dedup_key is null: %s needs the key that makes jobs one', case
                when debounce is not null then 'debounce' when replaces then 'replace' else 'unique_for' end)
    end
$$;

CREATE FUNCTION fairlead._unmark_drains(my_epoch bigint, pods text[]) RETURNS SETOF text
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
begin
    if not fairlead._autoscaler_leads(my_epoch) then
        return;
    end if;
    return query
    with unmarked as (
        delete from fairlead.pod_drains m
        where m.pod_uid in (
            select f.pod_uid from fairlead.pod_drains f where f.pod_uid = any (pods) for update skip locked)
        returning m.pod_uid
    )
    select u.pod_uid from unmarked u, fairlead._notify('fairlead_cancel', u.pod_uid);
end $$;

CREATE FUNCTION fairlead._wake_scheduler() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    AS $$
begin
    if pg_catalog.pg_sequence_last_value('fairlead.inserts_notify') is not null then
        perform fairlead._notify_scheduler('inserted');
    end if;
    return null;
end $$;

CREATE FUNCTION fairlead._wake_scheduler_at_ending() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    AS $$
begin
    if pg_catalog.pg_sequence_last_value('fairlead.endings_notify') is not null then
        perform fairlead._notify_scheduler('ended');
    end if;
    return new;
end $$;

CREATE FUNCTION fairlead.announce_kinds(worker bigint, kinds text[], max_attempts integer[] DEFAULT NULL::integer[], at_most_once boolean[] DEFAULT NULL::boolean[]) RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    SET enable_mergejoin TO 'off'
    SET enable_sort TO 'off'
    SET plan_cache_mode TO 'force_generic_plan'
    SET jit TO 'off'
    AS $$
#variable_conflict use_column
begin
    perform fairlead._check_kinds(announce_kinds.kinds, 1000),
            fairlead._check_array('max_attempts', announce_kinds.max_attempts, 1000, true),
            fairlead._check_array('at_most_once', announce_kinds.at_most_once, 1000, true);
    insert into fairlead.worker_kinds as k (worker, kinds, max_attempts, at_most_once)
    select w.id, announce_kinds.kinds,
           coalesce(announce_kinds.max_attempts, array_fill(null::integer, array[cardinality(announce_kinds.kinds)])),
           announce_kinds.at_most_once
    from fairlead.worker_leases w
    where w.id = announce_kinds.worker and w.dead_at is null
      and (w.login = session_user or fairlead._acts_for(w.login))
    for key share
    on conflict on constraint worker_kinds_pkey
    do update set kinds = excluded.kinds, max_attempts = excluded.max_attempts,
                  at_most_once = excluded.at_most_once;
    if not found then
        return false;
    end if;
    delete from fairlead.announced_kinds a where a.worker = announce_kinds.worker;
    insert into fairlead.announced_kinds (worker, kind, max_attempts, pool)
    select k.worker, s.kind, s.max_attempts, w.pool
    from fairlead.worker_kinds k cross join unnest(k.kinds, k.max_attempts) as s (kind, max_attempts)
    join fairlead.worker_leases w on w.id = k.worker
    where k.worker = announce_kinds.worker
    on conflict do nothing;
    return true;
end $$;

COMMENT ON FUNCTION fairlead.announce_kinds(worker bigint, kinds text[], max_attempts integer[], at_most_once boolean[]) IS 'Says for which kinds a worker has handlers, and how many attempts a job of each has whose row says nothing (null: 20), and which kinds run at most once: a crash, a lost lease or the worker''s stop ends such a job as failed. Answers whether the worker is live. A repeat replaces it. A worker that says nothing may have any.';

CREATE FUNCTION fairlead.apply_policy(document text, digest text, author text DEFAULT NULL::text, reason text DEFAULT ''::text) RETURNS TABLE(version bigint, stored boolean)
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
declare
    newest record;
    made bigint;
begin
    perform fairlead._require_read_committed();
    lock table fairlead.policy_versions in share row exclusive mode;
    select v.version, v.digest into newest from fairlead.policy_versions v
    order by v.version desc limit 1;
    if newest.digest = apply_policy.digest then
        return query select newest.version, false;
        return;
    end if;
    with kept as (
        insert into fairlead.policy_versions as v (document, digest, author, reason)
        values (apply_policy.document, apply_policy.digest,
                coalesce(nullif(apply_policy.author, ''), session_user), coalesce(apply_policy.reason, ''))
        returning v.version
    ), noted as (
        insert into fairlead.policy_events as e (version, event)
        select k.version, 'stored' from kept k
    )
    select k.version into made from kept k;
    perform fairlead._record_audit(
        'apply_policy', version => made, reason => apply_policy.reason, actor => apply_policy.author);
    perform fairlead._notify('fairlead_scheduler', 'policy');
    return query select made, true;
end $$;

COMMENT ON FUNCTION fairlead.apply_policy(document text, digest text, author text, reason text) IS 'Stores a policy document and answers its version, and whether that is new: a document with the digest of the newest version is not stored again. It is not read here: use fairlead policy apply, which refuses a bad one and computes the digest.';

CREATE FUNCTION fairlead.awaits_limits(worker bigint) RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    SET enable_mergejoin TO 'off'
    SET enable_sort TO 'off'
    SET plan_cache_mode TO 'force_generic_plan'
    SET jit TO 'off'
    AS $$
#variable_conflict use_column
begin
    return exists (
        select from fairlead.worker_kind_limits l
        where l.worker = awaits_limits.worker and not l.known);
end $$;

COMMENT ON FUNCTION fairlead.awaits_limits(worker bigint) IS 'Whether the leader does not yet hold to what the worker has said by limit_kinds().';

CREATE FUNCTION fairlead.cancel(job_id bigint) RETURNS text
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET enable_seqscan TO 'off'
    SET jit TO 'off'
    SET enable_tidscan TO 'on'
    AS $$
declare
    queued boolean;
    free boolean;
begin
    perform fairlead._require_read_committed();
    perform from fairlead.jobs j
    where j.id = cancel.job_id and fairlead._owns(j.tenant, j.enqueued_by) for update;
    if not found then
        perform from fairlead.job_history h
        where h.id = cancel.job_id and fairlead._owns(h.tenant, h.enqueued_by);
        return case when found then 'finished' else 'unknown' end;
    end if;
    -- A second statement, and so a new snapshot: a dispatch that held the job is visible now.
    select true into queued from fairlead.work_queue q where q.job_id = cancel.job_id;
    if queued then
        select q.worker is null into free from fairlead.work_queue q
        where q.job_id = cancel.job_id for update skip locked;
        if free is distinct from true then
            update fairlead.jobs j set cancel_requested_at = clock_timestamp()
            where j.id = cancel.job_id and j.cancel_requested_at is null;
            if found then
                perform fairlead._record_audit('cancel', job_id => cancel.job_id);
            end if;
            perform fairlead._notify('fairlead_cancel', cancel.job_id::text);
            return 'requested';
        end if;
    end if;
    perform fairlead._record_audit('cancel', job_id => cancel.job_id);
    perform fairlead._end_unstarted(array[cancel.job_id], 'cancelled');
    return 'cancelled';
end $$;

COMMENT ON FUNCTION fairlead.cancel(job_id bigint) IS 'Cancels a job. Answers cancelled (it ended and will not run), requested (it runs; its worker is notified), finished, or unknown, as is every job that is not the caller''s. A repeat is harmless. Several in one transaction go by id.';

CREATE FUNCTION fairlead.cancel_jobs(queue text DEFAULT NULL::text, tenant text DEFAULT NULL::text, kind text DEFAULT NULL::text, jobs_max integer DEFAULT 1000, OUT cancelled bigint, OUT locked bigint) RETURNS record
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
declare
    step record;
    id bigint := 0;
    bytes bigint := 0;
begin
    if not coalesce(jobs_max between 1 and 10000, false) then
        raise exception 'fairlead: jobs_max is 1 to 10,000'
            using errcode = 'invalid_parameter_value',
                  hint = 'Call it again for the others, each time in a transaction of its own.';
    end if;
    cancelled := 0;
    locked := 0;
    while cancelled < jobs_max and id is not null loop
        step := fairlead._cancel_jobs(
            cancel_jobs.queue, cancel_jobs.tenant, cancel_jobs.kind, id, (jobs_max - cancelled)::integer);
        cancelled := cancelled + step.ended + step.requested;
        locked := locked + step.locked;
        id := step.reached_id;
        bytes := bytes + step.taken_bytes;
        exit when bytes >= fairlead._bytes_at_once() and cancelled > 0;
    end loop;
end $$;

COMMENT ON FUNCTION fairlead.cancel_jobs(queue text, tenant text, kind text, jobs_max integer, OUT cancelled bigint, OUT locked bigint) IS 'Cancels unfinished jobs of the caller''s of a queue, a tenant and a kind (null: any; at least one is named), at most jobs_max of them, 10,000 or less, in the order of their ids, and no more once those it has taken have 16 MiB. Answers how many ended or were asked to stop, and how many another transaction has locked, which are left: call it until both are 0, each time in a transaction of its own.';

CREATE FUNCTION fairlead.checkpoint(job_id bigint, token bigint, value jsonb) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    SET enable_mergejoin TO 'off'
    SET enable_sort TO 'off'
    SET plan_cache_mode TO 'force_generic_plan'
    SET jit TO 'off'
    AS $$
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

COMMENT ON FUNCTION fairlead.checkpoint(job_id bigint, token bigint, value jsonb) IS 'Stores in the caller''s transaction what the job goes on from when it runs again: any JSON of at most 64 KiB. It replaces the last one and stays until the job ends. A stale token raises FL001.';

CREATE FUNCTION fairlead.claim(worker bigint, jobs_max integer, below_floor boolean DEFAULT false, full_kinds text[] DEFAULT NULL::text[]) RETURNS TABLE(job_id bigint, token bigint, queue text, tenant text, kind text, payload text, headers text, attempt integer, max_attempts integer, timeout_seconds double precision, timeout_max_seconds double precision, alone boolean, waited_seconds double precision, doomed text, checkpoint text)
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    SET enable_mergejoin TO 'off'
    SET enable_sort TO 'off'
    SET plan_cache_mode TO 'force_generic_plan'
    SET jit TO 'off'
    AS $$
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
            claimed_at = greatest(now(), clock_timestamp() - interval '1 second'),
            deadline = fairlead._deadline(q.timeout)
        where q.ctid = any (array(
            select p.place from picked p limit (select count(*) from read)))
        returning q.job_id, q.token, q.queue, q.tenant, q.runnable_at, q.timeout, q.timeout_max, q.alone
    ), receipt as (
        insert into fairlead.receipts (worker, claimed)
        select claim.worker, array_agg(l.job_id) from leased l having count(*) > 0
    )
    select l.job_id, l.token, l.queue, l.tenant, r.kind, r.payload, r.headers, fairlead._one_more(r.attempts),
           coalesce(r.max_attempts, 0), extract(epoch from l.timeout)::float8,
           extract(epoch from l.timeout_max)::float8, l.alone,
           (fairlead._epoch_us(now()) - fairlead._epoch_us(l.runnable_at)) / 1e6::float8,
           case when r.kind is null then 'gone'
                when r.cancel_requested_at is not null then 'cancelled'
                when r.expires_at <= now() then 'expired' end, r.checkpoint
    from leased l join read r on r.job_id = l.job_id;
end $$;

COMMENT ON FUNCTION fairlead.claim(worker bigint, jobs_max integer, below_floor boolean, full_kinds text[]) IS 'Leases up to jobs_max queued jobs of the worker''s pool to it, none of full_kinds, each with a fencing token: of 16 MiB of payloads, headers and checkpoints in all, or one job. There may be more after any claim that found some.';

CREATE FUNCTION fairlead.close_batch(batch bigint) RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET enable_seqscan TO 'off'
    SET jit TO 'off'
    AS $$
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

COMMENT ON FUNCTION fairlead.close_batch(batch bigint) IS 'Closes a batch of the caller''s that was inserted as open: it is over once all of its jobs have ended, and until then these may add others. Answers whether it was open, null when there is no such batch. A repeat is harmless.';

CREATE FUNCTION fairlead.complete(job_id bigint, token bigint, result jsonb DEFAULT NULL::jsonb) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    SET enable_mergejoin TO 'off'
    SET enable_sort TO 'off'
    SET plan_cache_mode TO 'force_generic_plan'
    SET jit TO 'off'
    SET enable_tidscan TO 'on'
    AS $_$
declare
    bytes constant integer := octet_length(result::text);
    fault constant text := case
        when bytes > 1048576
        then format('is %s bytes of JSON, more than 1,048,576', to_char(bytes, 'FM999,999,999,999'))
        when bytes > 1000 and jsonb_path_exists(result, '$.**{500}')
        then 'is nested more than 500 deep'
        when bytes > 4000 and jsonb_path_exists(
            result, 'strict $.** ? (@.type() == "number" && (@ >= 1e4000 || @ <= -1e4000))')
        then 'holds a number of 1e4000 or more'
    end;
    own constant bigint[] := fairlead._own(array[complete.job_id], array[complete.token]);
    holder name;
begin
    if fault is not null then
        raise exception 'fairlead: result %', fault
            using errcode = 'check_violation',
                  hint = 'Keep it somewhere else, and say in the result where.';
    end if;
    -- Completion takes work_queue first: its token is the proof of ownership.
    update fairlead.work_queue q
    set completed = coalesce((
        select w.releases_slots from fairlead.worker_leases w where w.id = q.worker), false)
    where q.job_id = complete.job_id and q.token = any (own) and not q.completed
    returning (select w.login from fairlead.worker_leases w where w.id = q.worker) into holder;
    if not found then
        perform fairlead._raise_stale(complete.job_id, complete.token);
    end if;
    if holder is distinct from session_user then
        perform fairlead._record_for_another('complete', complete.job_id, holder);
    end if;
    perform fairlead._end_jobs(
        array[complete.job_id], array['succeeded'], array[null::text], array[result]);
    perform fairlead._tell_waiting(array[complete.job_id]);
end $_$;

COMMENT ON FUNCTION fairlead.complete(job_id bigint, token bigint, result jsonb) IS 'Finishes a job with its result in the caller''s transaction, as its last statement. A stale token raises FL001, so that the transaction cannot commit. A result has a payload''s bounds. The slot counts, and is charged for, until its worker has released it.';

CREATE FUNCTION fairlead.deregister_workers(workers bigint[]) RETURNS SETOF bigint
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    SET enable_mergejoin TO 'off'
    SET enable_sort TO 'off'
    SET plan_cache_mode TO 'force_generic_plan'
    SET jit TO 'off'
    AS $$
begin
    return query
    update fairlead.worker_leases w set dead_at = now()
    where w.dead_at is null and w.id = any (array(
        select l.id from fairlead.worker_leases l
        where l.id = any (workers) and l.dead_at is null and fairlead._acts_for(l.login)
        order by l.id for update))
    returning w.id;
end $$;

COMMENT ON FUNCTION fairlead.deregister_workers(workers bigint[]) IS 'Gives up the leases of workers: they claim and renew no more. Answers those that had one.';

CREATE FUNCTION fairlead.drop_history_partitions(succeeded_days integer, unsuccessful_days integer) RETURNS TABLE(partition text, step text)
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET lock_timeout TO '50ms'
    AS $_$
declare
    old record;
    locked text[] := '{}';
begin
    if not coalesce(succeeded_days between 1 and 3650 and unsuccessful_days between 1 and 3650, false) then
        raise invalid_parameter_value using message =
            'fairlead: the history is kept for 1 to 3650 days';
    end if;
    for old in
        select c.relname as name, r.class, pg_relation_size(c.oid) > 0 as has_rows
        from unnest(array['succeeded', 'unsuccessful'], array[succeeded_days, unsuccessful_days])
            as r (class, days)
        join pg_class c on c.relnamespace = 'fairlead'::regnamespace and c.relkind = 'r'
            and c.relname ~ ('^job_history_' || r.class || '_[0-9]{8}$')
            and c.relname::text < fairlead._history_partition(
                r.class, (now() at time zone 'UTC')::date - r.days)
        order by has_rows desc, c.relname limit 1000
    loop
        continue when not old.has_rows and old.class = any (locked);
        partition := old.name;
        begin
            step := case when old.has_rows then 'emptied' else 'dropped' end;
            execute format(case when old.has_rows then 'truncate only fairlead.%I'
                                else 'drop table fairlead.%I' end, old.name);
            return next;
            return;
        exception when lock_not_available then
            step := 'locked';
            return next;
            locked := locked || case when old.has_rows then '' else old.class end;
            exit when cardinality(locked) > 3;  -- each of them took the timeout
        end;
    end loop;
end $_$;

COMMENT ON FUNCTION fairlead.drop_history_partitions(succeeded_days integer, unsuccessful_days integer) IS 'Empties, or drops when it is empty, one partition of the history that is past its retention; answers which, and those that another session has locked. The leader calls it until nothing is left.';

CREATE FUNCTION fairlead.enqueue(kind text, payload jsonb DEFAULT '{}'::jsonb, queue text DEFAULT 'default'::text, tenant text DEFAULT ''::text, priority integer DEFAULT 0, run_at timestamp with time zone DEFAULT NULL::timestamp with time zone, expires_at timestamp with time zone DEFAULT NULL::timestamp with time zone, dedup_key text DEFAULT NULL::text, max_attempts integer DEFAULT NULL::integer, timeout interval DEFAULT NULL::interval, cost_hint interval DEFAULT NULL::interval, headers jsonb DEFAULT NULL::jsonb, batch bigint DEFAULT NULL::bigint, replace boolean DEFAULT false, debounce interval DEFAULT NULL::interval, debounce_max interval DEFAULT NULL::interval, unique_for interval DEFAULT NULL::interval, OUT id bigint, OUT became text) RETURNS record
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET enable_seqscan TO 'off'
    SET jit TO 'off'
    AS $$
declare
    replaces constant boolean := enqueue.replace is true or enqueue.debounce is not null;
    fault constant text := fairlead._unique_fault(
        enqueue.dedup_key, enqueue.run_at, replaces, enqueue.debounce, enqueue.debounce_max, enqueue.unique_for);
    lock_wait constant text := current_setting('lock_timeout');
    digest constant bytea := case when enqueue.unique_for is not null
                                  then sha256(convert_to(enqueue.dedup_key, 'UTF8')) end;
    wanted fairlead.jobs;
begin
    if fault is not null then
        raise exception 'fairlead: %', fault using errcode = 'invalid_parameter_value';
    end if;
    wanted.queue := coalesce(enqueue.queue, 'default');
    wanted.tenant := coalesce(enqueue.tenant, '');
    wanted.kind := enqueue.kind;
    wanted.payload := coalesce(enqueue.payload, '{}');
    wanted.priority := least(greatest(coalesce(enqueue.priority, 0), -32768), 32767);
    wanted.run_at := enqueue.run_at;
    wanted.expires_at := enqueue.expires_at;
    wanted.dedup_key := enqueue.dedup_key;
    wanted.max_attempts := enqueue.max_attempts;
    wanted.timeout := enqueue.timeout;
    wanted.cost_hint := enqueue.cost_hint;
    wanted.headers := enqueue.headers;
    wanted.batch := enqueue.batch;
    if not fairlead._may_enqueue(wanted.queue, wanted.tenant) then
        raise exception 'fairlead: login % may not enqueue for tenant % into queue %: give a tenant and a queue '
                        'that are its own', session_user, quote_literal(left(wanted.tenant, 128)),
            quote_literal(left(wanted.queue, 128))
            using errcode = 'insufficient_privilege';
    end if;
    if replaces or digest is not null then
        perform fairlead._require_read_committed();
        if exists (
            select from fairlead.unique_periods p
            where p.queue = wanted.queue and p.tenant = wanted.tenant and p.key_digest = digest
              and p.until > clock_timestamp())
        then
            became := 'duplicate';
            return;
        end if;
        -- Others' transactions may hold the key for as long as they like.
        if lock_wait = '0' then
            perform set_config('lock_timeout', '10s', true);
        end if;
    end if;
    loop
        if enqueue.debounce is not null then
            wanted.run_at := clock_timestamp() + enqueue.debounce;
        end if;
        insert into fairlead.jobs as j (
            queue, tenant, kind, payload, priority, run_at, expires_at, dedup_key, max_attempts, timeout, cost_hint,
            headers, batch)
        values (wanted.queue, wanted.tenant, wanted.kind, wanted.payload, wanted.priority, wanted.run_at,
                wanted.expires_at, wanted.dedup_key, wanted.max_attempts, wanted.timeout, wanted.cost_hint,
                wanted.headers, wanted.batch)
        on conflict do nothing returning j.id into id;
        if found then
            became := coalesce(became, 'inserted');
            exit;
        end if;
        exit when not replaces;
        -- The holder of the key may end between the two statements, or be one that runs: then it is free.
        select r.id, coalesce(r.became, enqueue.became) into id, became
        from fairlead._replace(
            wanted, enqueue.debounce, coalesce(enqueue.debounce_max, 10 * enqueue.debounce)) r;
        exit when id is not null;
    end loop;
    if digest is not null and id is not null then
        insert into fairlead.unique_periods as p (queue, tenant, key_digest, until)
        values (wanted.queue, wanted.tenant, digest, clock_timestamp() + enqueue.unique_for)
        on conflict on constraint unique_periods_pkey
        do update set until = excluded.until where p.until <= clock_timestamp();
        -- Another session's job under this key has begun a period, and ended, since the look above.
        if not found then
            delete from fairlead.jobs j where j.id = enqueue.id;
            delete from fairlead.batch_jobs m
            where m.batch = wanted.batch and m.place = (
                select n.place from fairlead.batch_jobs n
                where n.batch = wanted.batch and n.job_id = enqueue.id order by n.place desc limit 1);
            id := null;
        end if;
    end if;
    if id is null then
        became := 'duplicate';
    end if;
    if lock_wait = '0' and (replaces or digest is not null) then
        perform set_config('lock_timeout', lock_wait, true);
    end if;
end $$;

COMMENT ON FUNCTION fairlead.enqueue(kind text, payload jsonb, queue text, tenant text, priority integer, run_at timestamp with time zone, expires_at timestamp with time zone, dedup_key text, max_attempts integer, timeout interval, cost_hint interval, headers jsonb, batch bigint, replace boolean, debounce interval, debounce_max interval, unique_for interval, OUT id bigint, OUT became text) IS 'Inserts a job as an INSERT does, and answers its id. became: inserted; duplicate, without an id, where an unfinished job has its dedup key, or unique_for has not passed since a job of the key was inserted with it; or with replace or debounce replaced, where a job that waits has the key and this one takes its place, and follows, where one that runs has it: that one ends with its attempt and is not run again. debounce: run so long after the last call, debounce_max (null: ten times as long) after the first one at the latest. Replaces jobs of the caller''s alone.';

CREATE FUNCTION fairlead.explain(job_id bigint) RETURNS jsonb
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET enable_seqscan TO 'off'
    SET jit TO 'off'
    AS $$
declare
    answer jsonb := fairlead._explain(explain.job_id);
    kind text;
    said text;
    workers bigint;
    asked record;
begin
    select j.kind, j.last_error into kind, said from fairlead.jobs j
    where j.id = explain.job_id and not answer ? 'asked'
      and answer ->> 'state' in ('pending', 'queued', 'running', 'scheduled');
    if kind is null then
        return answer;
    end if;
    if answer ->> 'state' = 'scheduled' and starts_with(said, 'unhandled: ') then
        answer := answer || jsonb_build_object('blocked_by', 'no handler', 'sentence', format(
            'no worker of its pool had a handler for its kind, %L, when one looked at it last: it is looked at again '
            'at %s', kind, answer ->> 'starts_at'));
    end if;
    select count(*) into workers from fairlead.worker_leases w
    where w.dead_at is null and w.lease_until > clock_timestamp()
      and w.crash_breakers @> jsonb_build_array(jsonb_build_array(kind, answer ->> 'tenant'));
    if workers > 0 then
        answer := answer || jsonb_build_object(
            'crash_breaker', jsonb_build_object('kind', kind, 'workers', workers),
            'sentence', format(
                '%s; jobs of kind %L of its tenant run one at a time on %s, because several have ended the '
                'process that ran them', answer ->> 'sentence', kind,
                case workers when 1 then '1 worker' else workers || ' workers' end));
    end if;
    select e.requested_at as at, e.for_queue as queue, e.for_tenant as tenant,
           fairlead._reads_all() or fairlead._owns(e.for_tenant, null) as visible,
           q.job_id is not null as runs
    into asked
    from fairlead.evictions e
    left join fairlead.work_queue q on q.job_id = e.job_id and q.token = e.token
    where e.job_id = explain.job_id;
    if asked.at is null then
        return answer;
    end if;
    return answer || jsonb_build_object(
        'evicted', jsonb_build_object('requested_at', asked.at)
            || case when asked.visible
                    then jsonb_build_object('for_queue', asked.queue, 'for_tenant', asked.tenant)
                    else '{}' end,
        'sentence', format(
            case when asked.runs then '%s, and was asked to stop at %s so that %s could run'
                 else '%s; it was asked to stop at %s so that %s could run' end,
            answer ->> 'sentence', asked.at,
            case when asked.visible then format('tenant %L of queue %L', asked.tenant, asked.queue)
                 else 'another tenant' end));
end $$;

COMMENT ON FUNCTION fairlead.explain(job_id bigint) IS 'Says why a job does not run, and about when it will. What only the leader knows is asked first: then the answer says asked, and the next call has it. crash_breaker: several jobs of its kind and tenant have ended the process that ran them, so that they run one at a time on so many workers. evicted: it was asked to stop, and when, so that another tenant could run.';

CREATE FUNCTION fairlead.extend(job_id bigint, token bigint, by interval) RETURNS timestamp with time zone
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    SET enable_mergejoin TO 'off'
    SET enable_sort TO 'off'
    SET plan_cache_mode TO 'force_generic_plan'
    SET jit TO 'off'
    AS $$
declare
    own constant bigint[] := fairlead._own(array[extend.job_id], array[extend.token]);
    until timestamptz;
    holder name;
begin
    if by is null or by <= interval '0' or by > interval '30 days' then
        raise exception 'fairlead: extend by must be over 0 and at most 30 days, not %', by
            using errcode = 'check_violation';
    end if;
    update fairlead.work_queue q
    set deadline = greatest(q.deadline, least(clock_timestamp() + by, q.claimed_at + q.timeout_max))
    where q.job_id = extend.job_id and q.token = any (own)
    returning q.deadline, (select w.login from fairlead.worker_leases w where w.id = q.worker)
    into until, holder;
    if not found then
        perform fairlead._raise_stale(extend.job_id, extend.token);
    end if;
    if holder is distinct from session_user then
        perform fairlead._record_for_another('extend', extend.job_id, holder);
    end if;
    return until;
end $$;

COMMENT ON FUNCTION fairlead.extend(job_id bigint, token bigint, by interval) IS 'Moves the attempt''s deadline to at least by from now, but no further than the pool''s longest timeout (timeoutMax) after the claim, and never back; answers the deadline. A stale token raises FL001.';

CREATE FUNCTION fairlead.extend_deadlines(ids bigint[], tokens bigint[], seconds double precision[]) RETURNS TABLE(token bigint, stop text)
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    SET enable_mergejoin TO 'off'
    SET enable_sort TO 'off'
    SET plan_cache_mode TO 'force_generic_plan'
    SET jit TO 'off'
    AS $$
#variable_conflict use_column
declare
    own constant bigint[] := fairlead._own(ids, tokens);
begin
    return query
    with asked as materialized (
        select a.job_id, a.token, a.held, a.seconds
        from unnest(ids, tokens, own, extend_deadlines.seconds) as a (job_id, token, held, seconds)
    ), extended as (
        update fairlead.work_queue q
        set deadline = greatest(q.deadline, least(timestamptz '9999-01-01 00:00+00', now() + make_interval(secs => (
            select max(a.seconds) from asked a where a.job_id = q.job_id and a.held = q.token))))
        where q.ctid = any (array(
            select w.ctid from fairlead.work_queue w
            where w.job_id = any (ids)
              and ((w.job_id, w.token) in (
                  select a.job_id, a.held from unnest(ids, own) as a (job_id, held))) is true
            order by w.job_id for update skip locked))
    )
    select a.token, case when h.holds is null then 'lost' else c.stop end
    from asked a
    left join lateral (
        select true as holds from fairlead.work_queue q
        where q.job_id = a.job_id and q.token = a.held offset 0) h on true
    left join lateral (
        select case when j.cancel_requested_at is not null then 'cancelled'
                    when j.expires_at <= now() then 'expired' end as stop
        from fairlead.jobs j where j.id = a.job_id offset 0) c on true;
end $$;

COMMENT ON FUNCTION fairlead.extend_deadlines(ids bigint[], tokens bigint[], seconds double precision[]) IS 'Moves deadlines to at least so many seconds from now. Answers for each token why its attempt is to stop: lost, cancelled, expired (if it has not begun); null: it goes on.';

CREATE FUNCTION fairlead.fail(job_id bigint, token bigint, error text DEFAULT ''::text, retry_in interval DEFAULT NULL::interval) RETURNS text
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    SET enable_mergejoin TO 'off'
    SET enable_sort TO 'off'
    SET plan_cache_mode TO 'force_generic_plan'
    SET jit TO 'off'
    AS $$
declare
    own constant bigint[] := fairlead._own(array[fail.job_id], array[fail.token]);
    new_state text;
    holder name;
begin
    if own <> '{}' then
        select (select w.login from fairlead.worker_leases w where w.id = q.worker) into holder
        from fairlead.work_queue q where q.job_id = fail.job_id and q.token = any (own);
        if found and holder is distinct from session_user then
            perform fairlead._record_for_another('fail', fail.job_id, holder);
        end if;
        select e.became into new_state from fairlead._end_attempts(
            array[fail.job_id], own, array['failed'], array[left(error, 4096)], array[retry_in]) e;
    end if;
    if coalesce(new_state, 'stale') = 'stale' then
        perform fairlead._raise_stale(fail.job_id, fail.token);
    elsif new_state = 'locked' then
        raise exception 'fairlead: another open transaction holds the attempt of job %', fail.job_id
            using errcode = 'lock_not_available', hint = 'Call it again when that has ended.';
    end if;
    return new_state;
end $$;

COMMENT ON FUNCTION fairlead.fail(job_id bigint, token bigint, error text, retry_in interval) IS 'Fails one attempt: the job runs again after retry_in (null: back-off), or has failed for good when its attempts are used up. Answers scheduled, failed or cancelled. A stale token raises FL001.';

CREATE FUNCTION fairlead.finish(ids bigint[], tokens bigint[], outcomes text[] DEFAULT NULL::text[], results text[] DEFAULT NULL::text[], errors text[] DEFAULT NULL::text[], run_us bigint[] DEFAULT NULL::bigint[]) RETURNS SETOF bigint
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    SET enable_mergejoin TO 'off'
    SET enable_sort TO 'off'
    SET plan_cache_mode TO 'force_generic_plan'
    SET jit TO 'off'
    AS $$
#variable_conflict use_column
begin
    if cardinality(tokens) > 1 then
        if (select count(distinct t.token) < count(t.token) from (select unnest(tokens) as token) t) then
            select array_agg(f.job_id), array_agg(f.token), array_agg(f.outcome), array_agg(f.result), array_agg(f.error),
                   array_agg(f.run_us)
            into ids, tokens, outcomes, results, errors, run_us
            from (
                select distinct on (e.job_id, e.token) e.*
                from unnest(ids, tokens, outcomes, results, errors, finish.run_us) with ordinality
                    as e (job_id, token, outcome, result, error, run_us, place)
                where e.token is not null order by e.job_id, e.token, e.place) f;
        end if;
    end if;
    if results is not null then
        perform fairlead._check_results(results);
    end if;
    return query
    with lock_wait as materialized (
        select set_config('lock_timeout', coalesce(nullif(current_setting('lock_timeout'), '0'), '200ms'),
                          true)
    ), me as materialized (
        select w.id from fairlead.worker_leases w
        where w.id = (select q.worker from fairlead.work_queue q
                      where q.job_id = any (ids) and q.worker is not null limit 1)
          and (w.login = session_user or fairlead._acts_for(w.login))
    ), ended as materialized (
        select e.job_id, e.token, e.outcome, e.result, left(e.error, 4096) as error, e.run_us
        from unnest(ids, tokens, outcomes, results, errors, finish.run_us)
            as e (job_id, token, outcome, result, error, run_us)
    ), released as (
        delete from fairlead.work_queue q
        where q.job_id = any (ids)
          and ((q.job_id, q.token) in (
              select a.job_id, a.token from unnest(ids, tokens) as a (job_id, token))) is true
          and exists (select from lock_wait)
          and (q.worker = (select m.id from me m) or fairlead._acts_for((
              select w.login from fairlead.worker_leases w where w.id = q.worker)))
        returning q.job_id, q.token, q.worker, q.runnable_at, q.claimed_at
    ), removed as (
        delete from fairlead.jobs j where j.id = any (array(select r.job_id from released r))
        returning j.*
    ), kept as (
        insert into fairlead.job_history (
            id, token, worker, created_at, due_at, runnable_at, claimed_at, finished_at, retry_of,
            attempt, max_attempts, crashes, losses, priority, outcome, queue, tenant, kind, payload,
            timeout, cost_hint, dedup_key, headers, result, error, enqueued_by)
        select j.id, r.token, r.worker, j.created_at, j.due_at, r.runnable_at, r.claimed_at,
               greatest(now(), clock_timestamp() - interval '1 second'),
               j.retry_of, fairlead._one_more(j.attempts), j.max_attempts, j.crashes, j.losses, j.priority,
               coalesce(e.outcome, 'succeeded'), j.queue, j.tenant, j.kind, j.payload, j.timeout,
               j.cost_hint, j.dedup_key, j.headers, e.result::jsonb,
               case when coalesce(e.outcome, 'succeeded') = 'succeeded' then e.error
                    when e.outcome = 'expired' then concat_ws('; before that: ', e.error, j.last_error)
                    else coalesce(e.error, j.last_error) end, j.enqueued_by
        from removed j join released r on r.job_id = j.id
        join ended e on e.job_id = r.job_id and e.token = r.token
    ), receipt as (
        insert into fairlead.receipts (ended, run_us)
        select array_agg(r.job_id), array_agg(fairlead._charged_us(e.run_us, r.claimed_at))
        from released r join ended e on e.job_id = r.job_id and e.token = r.token having count(*) > 0
    )
    select r.token from released r;
    -- Asked here as well: while nobody waits, the endings of a batch cost this and no call.
    if pg_sequence_last_value('fairlead.awaited_until') > date_part('epoch', clock_timestamp()) then
        perform fairlead._tell_waiting(ids);
    end if;
end $$;

COMMENT ON FUNCTION fairlead.finish(ids bigint[], tokens bigint[], outcomes text[], results text[], errors text[], run_us bigint[]) IS 'Finishes the jobs of attempts and answers the tokens that held. outcomes: succeeded (null), failed, cancelled or expired; run_us: for how long each is charged, at most since its claim.';

CREATE FUNCTION fairlead.hand_back(ids bigint[], tokens bigint[], ended_as text[], errors text[] DEFAULT NULL::text[], delays interval[] DEFAULT NULL::interval[]) RETURNS TABLE(job_id bigint, token bigint, became text, queue text, kind text)
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    SET enable_mergejoin TO 'off'
    SET enable_sort TO 'off'
    SET plan_cache_mode TO 'force_generic_plan'
    SET jit TO 'off'
    AS $$
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

COMMENT ON FUNCTION fairlead.hand_back(ids bigint[], tokens bigint[], ended_as text[], errors text[], delays interval[]) IS 'Ends attempts without finishing their jobs. ended_as: failed or snoozed (again after the delay), returned (not begun), released (cut short), crashed or lost. became: scheduled, queued, pending, failed, cancelled, stale, or locked: ask again.';

CREATE FUNCTION fairlead.limit_kinds(worker bigint, kinds text[], at_most integer[]) RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    SET enable_mergejoin TO 'off'
    SET enable_sort TO 'off'
    SET plan_cache_mode TO 'force_generic_plan'
    SET jit TO 'off'
    AS $$
#variable_conflict use_column
begin
    perform fairlead._check_kinds(limit_kinds.kinds, 100),
            fairlead._check_array('at_most', limit_kinds.at_most, 100, false);
    perform from fairlead.worker_leases w
    where w.id = limit_kinds.worker and w.dead_at is null
      and (w.login = session_user or fairlead._acts_for(w.login))
    for key share;
    if not found then
        return false;
    end if;
    delete from fairlead.worker_kind_limits l where l.worker = limit_kinds.worker;
    insert into fairlead.worker_kind_limits (worker, pool, kind, at_most, fleet)
    select w.id, w.pool, s.kind, s.at_most, coalesce((
        select min(l.login::text) from fairlead.pool_logins l
        where pg_has_role(session_user, to_regrole(quote_ident(l.login)), 'member')), '')
    from fairlead.worker_leases w cross join unnest(limit_kinds.kinds, limit_kinds.at_most) s (kind, at_most)
    where w.id = limit_kinds.worker;
    return true;
end $$;

COMMENT ON FUNCTION fairlead.limit_kinds(worker bigint, kinds text[], at_most integer[]) IS 'Says how many jobs of some kinds may be in flight at once in the fleet, at most 100 kinds; for the worker''s pool, where the smallest number of its live workers holds. Answers whether the worker is live. A repeat replaces it. Claim nothing while awaits_limits() is true.';

CREATE FUNCTION fairlead.list_batches(of_tenant text DEFAULT NULL::text, in_state text DEFAULT NULL::text, batches_max integer DEFAULT 20, before_id bigint DEFAULT NULL::bigint) RETURNS TABLE(id bigint, tenant text, queue text, kind text, state text, jobs bigint, jobs_is_more boolean, succeeded bigint, failed bigint, cancelled bigint, expired bigint, unknown bigint, uncounted bigint, waits_for text, created_at timestamp with time zone, completed_at timestamp with time zone, completion_job bigint, created_by text)
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET enable_seqscan TO 'off'
    SET jit TO 'off'
    SET enable_bitmapscan TO 'off'
    SET enable_sort TO 'off'
    SET enable_indexscan TO 'on'
    SET enable_tidscan TO 'on'
    AS $$
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

COMMENT ON FUNCTION fairlead.list_batches(of_tenant text, in_state text, batches_max integer, before_id bigint) IS 'Lists the newest batches of the caller''s, or of all that it may read, as batch_status has them, of a tenant and a state (null: any), at most batches_max of them, 1,000 or less; before_id, the last id of a list, gives the next. Looks at the newest 10,000, of the tenant or of those that are not over where these are asked for, and says in a notice that there are older ones.';

CREATE FUNCTION fairlead.list_jobs(of_queue text DEFAULT NULL::text, of_tenant text DEFAULT NULL::text, of_kind text DEFAULT NULL::text, in_state text DEFAULT NULL::text, jobs_max integer DEFAULT 20, since timestamp with time zone DEFAULT NULL::timestamp with time zone, until timestamp with time zone DEFAULT NULL::timestamp with time zone, before_id bigint DEFAULT NULL::bigint) RETURNS TABLE(id bigint, state text, queue text, tenant text, kind text, attempt integer, max_attempts integer, priority smallint, created_at timestamp with time zone, run_at timestamp with time zone, runnable_at timestamp with time zone, claimed_at timestamp with time zone, finished_at timestamp with time zone, progress real, error text)
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
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

COMMENT ON FUNCTION fairlead.list_jobs(of_queue text, of_tenant text, of_kind text, in_state text, jobs_max integer, since timestamp with time zone, until timestamp with time zone, before_id bigint) IS 'Lists the newest jobs of the caller''s, or of all that it may read, of a queue, a tenant, a kind and a state (null: any), inserted since and until an instant, at most jobs_max of them, 1,000 or less; before_id, the last id of a list, gives the next. Finds all unfinished jobs of a tenant, or of a queue or scheduled, of which there are at most 3,000, and all of a tenant that failed, expired or were cancelled; of others it looks at the newest 18,000 at most, whoever''s they are, and says in a notice that there are older ones, and before which id to go on.';

CREATE FUNCTION fairlead.make_history_partitions(days_ahead integer DEFAULT 14) RETURNS integer
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET lock_timeout TO '50ms'
    AS $$
declare
    read_max constant bigint := 16 * 1024 * 1024;
    made integer := 0;
    ahead integer;
    class text;
    missing date[];
begin
    if not coalesce(days_ahead between 0 and 90, false) then
        raise invalid_parameter_value using message =
            'fairlead: partitions are made for 0 to 90 days ahead';
    end if;
    foreach class in array array['succeeded', 'unsuccessful'] loop
        begin
            ahead := case when pg_relation_size(to_regclass(format(
                'fairlead.%I', fairlead._history_partition(class, null)))) > read_max then 0 else days_ahead end;
            continue when fairlead._missing_history_partitions(class, ahead) = '{}';
            -- One at a time, and never while a migration runs.
            lock table fairlead.schema_versions in share row exclusive mode;
            missing := fairlead._missing_history_partitions(class, ahead);
            perform fairlead._make_history_partitions(class, missing);
            made := made + cardinality(missing);
        exception when lock_not_available then
            raise warning 'fairlead: partitions of job_history_% are left for later: another session holds a lock',
                class;
        end;
    end loop;
    return made;
end $$;

COMMENT ON FUNCTION fairlead.make_history_partitions(days_ahead integer) IS 'Makes the partitions of yesterday, today and the next days_ahead days, and of days whose endings are in a default partition, which move; answers how many were new. Warns of those that another session''s locks keep from being made now.';

CREATE FUNCTION fairlead.note_refused_policy(hash text, said text, author text DEFAULT NULL::text) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET enable_seqscan TO 'off'
    SET jit TO 'off'
    AS $$
begin
    insert into fairlead.policy_events as e (event, hash, author, said)
    values ('refused', note_refused_policy.hash,
            left(coalesce(nullif(note_refused_policy.author, ''), session_user), 128),
            left(note_refused_policy.said, 1024))
    on conflict on constraint policy_events_once do update
    set id = default, at = clock_timestamp(), author = excluded.author, said = excluded.said;
    delete from fairlead.policy_events e where e.id in (
        select o.id from fairlead.policy_events o
        where o.version is null order by o.id desc offset 100 limit 100);
end $$;

COMMENT ON FUNCTION fairlead.note_refused_policy(hash text, said text, author text) IS 'Notes that a policy document was refused, so that the leader logs and counts it: fairlead policy apply calls it. A repeat leaves one event, the newest; the last hundred documents are kept.';

CREATE FUNCTION fairlead.pause(queue text, tenant text DEFAULT NULL::text, until timestamp with time zone DEFAULT NULL::timestamp with time zone) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET enable_seqscan TO 'off'
    SET jit TO 'off'
    AS $$
begin
    if octet_length(pause.queue) not between 1 and 128 or octet_length(pause.tenant) > 128 then
        raise exception 'fairlead: queue must be 1 to 128 bytes and tenant at most 128'
            using errcode = 'check_violation';
    end if;
    if (pause.until > clock_timestamp() and pause.until <= clock_timestamp() + interval '366 days') is false then
        raise exception 'fairlead: until is %: give an instant that lies ahead, by 366 days at most', pause.until
            using errcode = 'invalid_parameter_value';
    end if;
    if not fairlead._sees_all() and (pause.tenant is null or not fairlead._sees(pause.tenant)) then
        raise exception 'fairlead: this login may pause its own tenant only'
            using errcode = 'insufficient_privilege';
    end if;
    insert into fairlead.paused as p (queue, tenant, until) values (pause.queue, pause.tenant, pause.until)
    on conflict on constraint paused_once do update set until = excluded.until
    where p.until is distinct from excluded.until;
    if found then
        perform fairlead._record_audit(
            'pause', queue => pause.queue, tenant => pause.tenant,
            details => case when pause.until is not null then jsonb_build_object('until', pause.until) end);
    end if;
    perform fairlead._notify('fairlead_scheduler', '');
end $$;

COMMENT ON FUNCTION fairlead.pause(queue text, tenant text, until timestamp with time zone) IS 'Stops new dispatch of a queue, or of one tenant in it, from the next tick; what is queued is recalled within 2 s and what runs finishes. It lasts until somebody resumes it, or until an instant, by 366 days ahead at most: the leader ends it within 4 s of that. A repeat changes that instant alone; without one it has none.';

CREATE FUNCTION fairlead.redact(job_id bigint) RETURNS text
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET enable_seqscan TO 'off'
    SET jit TO 'off'
    AS $$
declare
    found_queue text;
    found_tenant text;
begin
    perform fairlead._require_read_committed();
    perform from fairlead.jobs j where j.id = redact.job_id and fairlead._sees(j.tenant);
    if found then
        return 'unfinished';
    end if;
    update fairlead.job_history h
    set payload = null, headers = null, dedup_key = null, result = null, error = null
    where h.id = redact.job_id and fairlead._sees(h.tenant)
    returning h.queue, h.tenant into found_queue, found_tenant;
    if not found then
        select '', e.tenant into found_queue, found_tenant from fairlead.attempt_errors e
        where e.job_id = redact.job_id and fairlead._sees(e.tenant) order by e.at limit 1;
    end if;
    if not found then
        return 'unknown';
    end if;
    update fairlead.attempt_errors e set error = '' where e.job_id = redact.job_id;
    delete from fairlead.job_progress p where p.job_id = redact.job_id;
    perform fairlead._record_audit(
        'redact', job_id => redact.job_id, queue => found_queue, tenant => found_tenant);
    return 'redacted';
end $$;

COMMENT ON FUNCTION fairlead.redact(job_id bigint) IS 'Takes payload, headers, dedup key, result, errors and progress out of a finished job; its row stays in the history and cannot be retried. Errors may outlive that row, and go too. Answers redacted, unfinished (cancel it first) or unknown. A repeat is harmless. A job that repeats it has its own copy.';

CREATE FUNCTION fairlead.redrive(queue text, tenant text DEFAULT NULL::text, kind text DEFAULT NULL::text, since timestamp with time zone DEFAULT '-infinity'::timestamp with time zone, jobs_max integer DEFAULT 1000) RETURNS bigint
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET enable_seqscan TO 'off'
    SET jit TO 'off'
    AS $$
declare
    made bigint := 0;
    step record;
    at timestamptz := since;
    id bigint := 0;
    bytes bigint := 0;
begin
    while made < jobs_max and at is not null and bytes < fairlead._bytes_at_once() loop
        step := fairlead._redrive(
            redrive.queue, redrive.tenant, redrive.kind, at, id, (jobs_max - made)::integer);
        made := made + step.made;
        at := step.reached_at;
        id := step.reached_id;
        bytes := bytes + step.made_bytes;
    end loop;
    return made;
end $$;

COMMENT ON FUNCTION fairlead.redrive(queue text, tenant text, kind text, since timestamp with time zone, jobs_max integer) IS 'Retries failed jobs of a queue, oldest ending first, at most jobs_max of them, and no more once those it has made have 16 MiB, each once however often it is called, for as long as its ending is kept. Answers how many new jobs it made; call it until that is 0.';

CREATE FUNCTION fairlead.register_worker(name text, pool text, slots integer, lease_seconds double precision DEFAULT 15, slots_full integer DEFAULT NULL::integer, host text DEFAULT ''::text, pod_uid text DEFAULT NULL::text, pod_name text DEFAULT NULL::text, version text DEFAULT ''::text, releases_slots boolean DEFAULT false) RETURNS TABLE(worker bigint, draining boolean, drained boolean)
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    SET enable_mergejoin TO 'off'
    SET enable_sort TO 'off'
    SET plan_cache_mode TO 'force_generic_plan'
    SET jit TO 'off'
    AS $$
#variable_conflict use_column
declare
    fault constant text := case
        when octet_length(register_worker.pool) not between 1 and 128 then 'pool must be 1 to 128 bytes'
        when octet_length(register_worker.name) > 1000 then 'name must be at most 1,000 bytes'
        when octet_length(register_worker.host) > 256 then 'host must be at most 256 bytes'
        when octet_length(register_worker.pod_uid) > 128 then 'pod_uid must be at most 128 bytes'
        when octet_length(register_worker.pod_name) > 256 then 'pod_name must be at most 256 bytes'
        when octet_length(register_worker.version) > 128 then 'version must be at most 128 bytes'
    end;
begin
    if fault is not null then
        raise exception 'fairlead: a worker''s %', fault using errcode = 'check_violation';
    end if;
    if not fairlead._may_serve(register_worker.pool) then
        raise exception 'fairlead: login % may not serve pool %', session_user, register_worker.pool
            using errcode = 'insufficient_privilege',
                  hint = 'fairlead.pool_logins lists the pools that it may serve.';
    end if;
    if exists (
        select from fairlead.worker_leases w
        where w.dead_at is null and w.lease_until > now() and w.login = session_user offset 9999)
    then
        raise exception 'fairlead: login % has 10,000 live workers, and may have no more', session_user
            using errcode = 'configuration_limit_exceeded',
                  hint = 'Stop some, or wait until the leases of those that were lost have lapsed.';
    end if;
    if exists (
        select from fairlead.worker_leases w where w.dead_at is null and w.login = session_user offset 19999)
    then
        raise exception 'fairlead: login % has 20,000 workers, live or lapsed, and may have no more', session_user
            using errcode = 'configuration_limit_exceeded',
                  hint = 'A scheduler that leads marks them dead.';
    end if;
    return query
    with mark as materialized (
        select k.holds, k.drained from fairlead._read_mark(register_worker.pod_uid) k
    ), me as (
        insert into fairlead.worker_leases (
            id, lease_until, slots, slots_full, name, pool, host, pod_uid, pod_name, version, releases_slots,
            draining)
        overriding system value values (
            nextval('fairlead.worker_leases_id_seq') + fairlead._timeline_base(),
            now() + interval '1 second' * greatest(least(register_worker.lease_seconds, 3600), 0),
            register_worker.slots, coalesce(register_worker.slots_full, register_worker.slots), register_worker.name,
            register_worker.pool, register_worker.host, register_worker.pod_uid, register_worker.pod_name,
            register_worker.version, register_worker.releases_slots,
            exists (select from mark k where k.holds))
        returning id, draining
    )
    select m.id, m.draining, exists (select from mark k where k.drained) from me m;
    perform fairlead._notify('fairlead_scheduler', '');
end $$;

COMMENT ON FUNCTION fairlead.register_worker(name text, pool text, slots integer, lease_seconds double precision, slots_full integer, host text, pod_uid text, pod_name text, version text, releases_slots boolean) IS 'Registers a worker of the session''s login in a pool that it may serve, and answers its id. slots_full is the most slots that it will have (null: slots); releases_slots: it calls release for jobs that complete has finished.';

CREATE FUNCTION fairlead.release(ids bigint[], tokens bigint[], run_us bigint[] DEFAULT NULL::bigint[]) RETURNS SETOF bigint
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    SET enable_mergejoin TO 'off'
    SET enable_sort TO 'off'
    SET plan_cache_mode TO 'force_generic_plan'
    SET jit TO 'off'
    AS $$
declare
    own constant bigint[] := fairlead._own(ids, tokens);
begin
    return query
    select r.token from fairlead._release(ids, own, release.run_us) r;
end $$;

COMMENT ON FUNCTION fairlead.release(ids bigint[], tokens bigint[], run_us bigint[]) IS 'Frees the slots of attempts whose jobs are gone; answers the tokens that held them.';

CREATE FUNCTION fairlead.remove_schedules(tenant text, name text DEFAULT NULL::text) RETURNS integer
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET enable_seqscan TO 'off'
    SET enable_indexscan TO 'on'
    SET jit TO 'off'
    AS $$
declare
    removed integer;
begin
    delete from fairlead.schedules s
    where s.tenant = remove_schedules.tenant and (remove_schedules.name is null or s.name = remove_schedules.name)
      and fairlead._owns(s.tenant, s.created_by);
    get diagnostics removed = row_count;
    return removed;
end $$;

COMMENT ON FUNCTION fairlead.remove_schedules(tenant text, name text) IS 'Removes the caller''s schedules of a tenant, or the one of a name, and answers how many; jobs that they made stay. There is no DELETE: whoever may delete from a table may lock it against everybody.';

CREATE FUNCTION fairlead.renew_worker(worker bigint, lease_seconds double precision DEFAULT 15, slots integer DEFAULT NULL::integer, ids bigint[] DEFAULT '{}'::bigint[], tokens bigint[] DEFAULT '{}'::bigint[], beside integer DEFAULT 0, crash_breakers jsonb DEFAULT NULL::jsonb, evictable_kinds text[] DEFAULT NULL::text[]) RETURNS TABLE(cancelled bigint[], evicted bigint[], draining boolean, marked boolean, drained boolean)
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    SET enable_mergejoin TO 'off'
    SET enable_sort TO 'off'
    SET plan_cache_mode TO 'force_generic_plan'
    SET jit TO 'off'
    AS $$
#variable_conflict use_column
begin
    return query
    with me as (
        update fairlead.worker_leases w
        set lease_until = now() + interval '1 second' * greatest(least(renew_worker.lease_seconds, 3600), 0),
            slots = least(coalesce(renew_worker.slots, w.slots), coalesce(w.slots_full, w.slots)),
            beside = renew_worker.beside, crash_breakers = fairlead._readable_breakers(renew_worker.crash_breakers),
            evictable_kinds = case when fairlead._is_list(renew_worker.evictable_kinds)
                                        and octet_length(renew_worker.evictable_kinds::text) <= 262144
                                   then renew_worker.evictable_kinds end,
            draining = w.draining or exists (
                select from fairlead.pod_drains d
                where d.pod_uid = w.pod_uid and d.drain_until > now())
        where w.id = renew_worker.worker and w.dead_at is null
          and (w.login = session_user or fairlead._acts_for(w.login))
        returning w.id, w.pod_uid, w.draining, set_config('synchronous_commit', 'off', true)
    ), running as materialized (
        select a.job_id, a.token, q.completed
        from unnest(renew_worker.ids, renew_worker.tokens) as a (job_id, token)
        cross join lateral (
            select q.completed from fairlead.work_queue q
            where q.job_id = a.job_id and q.token = a.token and q.worker = (select m.id from me m)
            offset 0) q
    )
    select array(
               select a.token from running a
               left join lateral (
                   select j.id, j.cancel_requested_at is not null as requested
                   from fairlead.jobs j where j.id = a.job_id offset 0) j on true
               where case when j.id is null then not a.completed else j.requested end),
           array(
               select a.token from running a
               cross join lateral (
                   select from fairlead.evictions e
                   where renew_worker.evictable_kinds is not null
                     and e.job_id = a.job_id and e.token = a.token offset 0) e),
           m.draining, coalesce(d.drain_until > now(), false), d.drained_at is not null
    from me m left join fairlead.pod_drains d on d.pod_uid = m.pod_uid;
end $$;

COMMENT ON FUNCTION fairlead.renew_worker(worker bigint, lease_seconds double precision, slots integer, ids bigint[], tokens bigint[], beside integer, crash_breakers jsonb, evictable_kinds text[]) IS 'Renews a worker''s lease by lease_seconds, an hour at most. Of the attempts that it names it answers the tokens that are to be cancelled, on request or because the job''s row is gone, and evicted. No row: the worker is dead.';

CREATE FUNCTION fairlead.reset_leadership() RETURNS SETOF text
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
declare
    mended text[];
begin
    with reset as (
        insert into fairlead.leaders as l (role, epoch, release)
        select r.role, (extract(epoch from clock_timestamp()) * 1e6)::bigint,
               coalesce((select max(o.release) from fairlead.leaders o), '')
        from (values ('scheduler'), ('autoscaler')) r (role)
        where fairlead._leader_fault(r.role) is not null
        on conflict (role) do update
        set lease_until = '-infinity',
            epoch = case when l.epoch between 0 and (1::bigint << 62) - 1 then l.epoch + 1
                         else excluded.epoch end
        returning l.role
    )
    select array_agg(r.role) into mended from reset r;
    if mended is not null then
        perform fairlead._record_audit(
            'reset_leadership', details => jsonb_build_object('roles', mended));
        perform fairlead._notify('fairlead_leader', '');
    end if;
    return query select m.role from unnest(mended) as m (role);
end $$;

COMMENT ON FUNCTION fairlead.reset_leadership() IS 'Mends the rows of leaders that no program can acquire any more, because of an impossible lease or epoch; answers whose. Healthy ones are left alone.';

CREATE FUNCTION fairlead.resume(queue text, tenant text DEFAULT NULL::text) RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET enable_seqscan TO 'off'
    SET jit TO 'off'
    AS $$
declare
    was_paused boolean;
begin
    if not fairlead._sees_all() and (resume.tenant is null or not fairlead._sees(resume.tenant)) then
        raise exception 'fairlead: this login may resume its own tenant only'
            using errcode = 'insufficient_privilege';
    end if;
    delete from fairlead.paused p
    where p.queue = resume.queue and p.tenant is not distinct from resume.tenant;
    was_paused := found;
    if was_paused then
        perform fairlead._record_audit('resume', queue => resume.queue, tenant => resume.tenant);
    end if;
    perform fairlead._notify('fairlead_scheduler', '');
    return was_paused;
end $$;

COMMENT ON FUNCTION fairlead.resume(queue text, tenant text) IS 'Ends a pause that was made with the same arguments; answers whether there was one.';

CREATE FUNCTION fairlead.retry(job_id bigint) RETURNS bigint
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET enable_seqscan TO 'off'
    SET jit TO 'off'
    AS $$
declare
    live bigint;
    mine boolean;
    past fairlead.job_history;
    heir fairlead.job_history;
begin
    perform fairlead._require_read_committed();
    select j.id into live from fairlead.jobs j
    where j.id = retry.job_id and fairlead._owns(j.tenant, j.enqueued_by) for update;
    if found then
        update fairlead.jobs j set run_at = clock_timestamp()
        where j.id = live and j.run_at > clock_timestamp();
        if found then
            perform fairlead._record_audit('retry', job_id => live);
        end if;
        perform fairlead._notify('fairlead_scheduler', '');
        return live;
    end if;
    -- Another session that repeats it waits here, and sees in a new snapshot what was made.
    select h.* into past from fairlead.job_history h
    where h.id = retry.job_id and fairlead._owns(h.tenant, h.enqueued_by) order by h.finished_at desc limit 1
    for update;
    if not found then
        return null;
    end if;
    heir := past;
    while heir.retried_as is not null loop
        select j.id into live from fairlead.jobs j where j.id = heir.retried_as;
        if found then
            return live;
        end if;
        select h.* into heir from fairlead.job_history h
        where h.id = heir.retried_as order by h.finished_at desc limit 1;
    end loop;
    if past.payload is null then
        raise exception 'fairlead: job % cannot be retried: its payload was not kept', job_id
            using errcode = 'FL004';
    end if;
    -- A repeat passes the gate, since it replaces what was admitted once; who could fill a backlog that way does not.
    if not fairlead._owns_all() then
        perform fairlead._has_room(past.queue, past.tenant, past.dedup_key, null);
    end if;
    loop
        insert into fairlead.jobs (
            queue, tenant, kind, payload, priority, dedup_key, max_attempts, timeout, cost_hint,
            headers, retry_of, enqueued_by)
        values (past.queue, past.tenant, past.kind, past.payload, past.priority, past.dedup_key,
                past.max_attempts, past.timeout, past.cost_hint, past.headers, past.id,
                past.enqueued_by)
        on conflict do nothing returning id into live;
        if found then
            update fairlead.job_history h set retried_as = live
            where h.id = past.id and h.outcome = past.outcome and h.finished_at = past.finished_at;
            perform fairlead._record_audit(
                'retry', job_id => past.id, queue => past.queue, tenant => past.tenant,
                details => jsonb_build_object('runs_as', live));
            return live;
        end if;
        -- Of another's job not even the id is told.
        select j.id, fairlead._owns(j.tenant, j.enqueued_by) into live, mine from fairlead.jobs j
        where j.queue = past.queue and j.tenant = past.tenant and j.dedup_key = past.dedup_key;
        -- Neither: the holder of the key ended between the two statements, so try the insert again.
        exit when live is not null;
    end loop;
    return case when mine then live end;
end $$;

COMMENT ON FUNCTION fairlead.retry(job_id bigint) IS 'Runs a job again and answers its id: a scheduled one falls due now, a finished one is inserted anew with retry_of. While that repeat is unfinished, a further call answers it; when its dedup key is live, the holder of that key. Null when there is no such job, or none that is the caller''s. An application meets the backlog limit (FL005). Several in one transaction go by id, but those with a dedup key one in each: it waits for whoever inserts the key.';

CREATE FUNCTION fairlead.run_schedule(tenant text, name text) RETURNS bigint
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET enable_seqscan TO 'off'
    SET jit TO 'off'
    AS $$
declare
    of_queue text;
    made bigint;
begin
    insert into fairlead.jobs as j (
        queue, tenant, kind, payload, priority, max_attempts, timeout, expires_at, headers, enqueued_by)
    select s.queue, s.tenant, s.kind, s.payload, s.priority, s.max_attempts, s.timeout, now() + s.expires_in,
           s.headers || jsonb_build_object(
               'fairlead.schedule', s.name,
               'fairlead.fire_time', to_char(now() at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"')),
           s.created_by
    from fairlead.schedules s where s.tenant = run_schedule.tenant and s.name = run_schedule.name
    returning j.id, j.queue into made, of_queue;
    perform fairlead._record_audit(
        'run_schedule', job_id => made, queue => of_queue, tenant => run_schedule.tenant,
        schedule => run_schedule.name)
    where made is not null;
    return made;
end $$;

COMMENT ON FUNCTION fairlead.run_schedule(tenant text, name text) IS 'Inserts the job of a schedule now, of a tenant and a name, whether or not it is enabled, as a job of the login that made the schedule, and answers its id; null: there is none. When the schedule fires next stays as it is. A backlog limit refuses it (FL005) as any INSERT. A repeat inserts another job.';

CREATE FUNCTION fairlead.say_drained(worker bigint) RETURNS SETOF timestamp with time zone
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    SET enable_mergejoin TO 'off'
    SET enable_sort TO 'off'
    SET plan_cache_mode TO 'force_generic_plan'
    SET jit TO 'off'
    AS $$
begin
    return query
    update fairlead.pod_drains d set drained_at = coalesce(d.drained_at, now())
    from fairlead.worker_leases w
    where w.id = say_drained.worker and w.dead_at is null and w.draining and fairlead._acts_for(w.login)
      and d.pod_uid = w.pod_uid and d.drain_until > now()
      and (select o.id from fairlead.worker_leases o
           where o.dead_at is null and o.lease_until > now() and o.pod_uid = w.pod_uid and not o.draining
           order by o.name limit 1) is null
      and (select q.job_id from fairlead.work_queue q
           where q.worker = any (array(
               select o.id from fairlead.worker_leases o
               where o.dead_at is null and (o.lease_until > now() or o.id = w.id)
                 and o.pod_uid = w.pod_uid))
           order by q.job_id limit 1) is null
      and d.pod_uid = any (array(
          select f.pod_uid from fairlead.pod_drains f where f.pod_uid = w.pod_uid
          for no key update skip locked))
    returning d.drained_at;
end $$;

COMMENT ON FUNCTION fairlead.say_drained(worker bigint) IS 'Stores that the worker''s pod is empty under its mark; answers since when, and no row if it is not.';

CREATE FUNCTION fairlead.set_priorities(priority integer, queue text DEFAULT NULL::text, tenant text DEFAULT NULL::text, kind text DEFAULT NULL::text, jobs_max integer DEFAULT 1000, OUT changed bigint, OUT running bigint, OUT locked bigint) RETURNS record
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
declare
    step record;
    id bigint := 0;
begin
    if not coalesce(jobs_max between 1 and 10000, false) then
        raise exception 'fairlead: jobs_max is 1 to 10,000'
            using errcode = 'invalid_parameter_value',
                  hint = 'Call it again for the others, each time in a transaction of its own.';
    end if;
    changed := 0;
    running := 0;
    locked := 0;
    while changed < jobs_max and id is not null loop
        step := fairlead._set_priorities(
            set_priorities.priority, set_priorities.queue, set_priorities.tenant, set_priorities.kind, id,
            (jobs_max - changed)::integer);
        changed := changed + step.changed;
        running := running + step.running;
        locked := locked + step.locked;
        id := step.reached_id;
    end loop;
end $$;

COMMENT ON FUNCTION fairlead.set_priorities(priority integer, queue text, tenant text, kind text, jobs_max integer, OUT changed bigint, OUT running bigint, OUT locked bigint) IS 'Gives jobs that wait of a queue, a tenant and a kind (null: any; at least one is named) another priority, at most jobs_max of them, 10,000 or less, in the order of their ids, which is the order in which they stand in the lane then. Answers how many it changed, how many run and keep theirs, and how many another transaction has locked, which are left: call it until changed and locked are 0, each time in a transaction of its own.';

CREATE FUNCTION fairlead.set_priority(job_id bigint, priority integer) RETURNS text
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET enable_seqscan TO 'off'
    SET jit TO 'off'
    AS $$
declare
    former integer;
begin
    perform fairlead._require_read_committed();
    perform fairlead._check_priority(set_priority.priority);
    select j.priority into former from fairlead.jobs j where j.id = set_priority.job_id for update;
    if not found then
        perform from fairlead.job_history h where h.id = set_priority.job_id;
        return case when found then 'finished' else 'unknown' end;
    end if;
    if former = set_priority.priority then
        return 'unchanged';
    end if;
    if fairlead._move_jobs(array[set_priority.job_id], set_priority.priority) = '{}' then
        return 'running';
    end if;
    perform fairlead._record_audit(
        'set_priority', job_id => set_priority.job_id,
        details => jsonb_build_object('priority', set_priority.priority, 'former', former));
    return 'changed';
end $$;

COMMENT ON FUNCTION fairlead.set_priority(job_id bigint, priority integer) IS 'Gives a job that waits another priority, -100 to 100: from the leader''s next tick it stands behind those that have that priority in its lane, and where the policy has bands in the band of it. One that is queued and is to run later is recalled within 2 s, unless a worker claims it before. Answers changed, unchanged, running (it keeps its priority), finished, or unknown. A repeat is harmless. Several in one transaction go by id.';

CREATE FUNCTION fairlead.store_checkpoints(ids bigint[], tokens bigint[], checkpoints text[]) RETURNS TABLE(token bigint, became text)
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    SET enable_mergejoin TO 'off'
    SET enable_sort TO 'off'
    SET plan_cache_mode TO 'force_generic_plan'
    SET jit TO 'off'
    AS $$
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

COMMENT ON FUNCTION fairlead.store_checkpoints(ids bigint[], tokens bigint[], checkpoints text[]) IS 'Stores what the jobs of attempts go on from, each any JSON of at most 64 KiB, null too. became: stored, stale, or locked: ask again.';

CREATE FUNCTION fairlead.store_progress(ids bigint[], tokens bigint[], fractions real[], notes text[]) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    SET enable_mergejoin TO 'off'
    SET enable_sort TO 'off'
    SET plan_cache_mode TO 'force_generic_plan'
    SET jit TO 'off'
    AS $$
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

COMMENT ON FUNCTION fairlead.store_progress(ids bigint[], tokens bigint[], fractions real[], notes text[]) IS 'Stores how far attempts are, from 0 to 1, and a note of each.';

CREATE FUNCTION fairlead.take_floor_scan_turn(pool text) RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    SET enable_mergejoin TO 'off'
    SET enable_sort TO 'off'
    SET plan_cache_mode TO 'force_generic_plan'
    SET jit TO 'off'
    AS $$
begin
    perform set_config('synchronous_commit', 'off', true);
    update fairlead.floor_scans s set at = now()
    where s.pool = any (array(
        select f.pool from fairlead.floor_scans f
        where f.pool = take_floor_scan_turn.pool
          and f.at not between now() - interval '1 second' and now() + interval '1 second'
          and fairlead._may_serve(f.pool)
        for update skip locked));
    return found;
end $$;

COMMENT ON FUNCTION fairlead.take_floor_scan_turn(pool text) IS 'Whether the caller may claim once with below_floor now: one worker of a pool may, once a second.';

CREATE FUNCTION fairlead.undrain_worker(worker bigint) RETURNS SETOF bigint
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    SET enable_mergejoin TO 'off'
    SET enable_sort TO 'off'
    SET plan_cache_mode TO 'force_generic_plan'
    SET jit TO 'off'
    AS $$
begin
    return query
    with me as materialized (
        select w.id, w.pod_uid from fairlead.worker_leases w
        where w.id = undrain_worker.worker and w.dead_at is null and fairlead._acts_for(w.login)
        for no key update
    ), free as (
        update fairlead.worker_leases w set draining = false
        from me m where w.id = m.id
          and not coalesce((select k.holds from fairlead._read_mark(m.pod_uid) k), false)
        returning w.id
    )
    select f.id from free f;
    if found then
        perform fairlead._notify('fairlead_scheduler', '');
    end if;
end $$;

COMMENT ON FUNCTION fairlead.undrain_worker(worker bigint) IS 'Lets a worker claim again whose pod is no longer marked; answers its id if it may.';

CREATE VIEW fairlead._lanes AS
 WITH RECURSIVE lane AS (
        ( SELECT j.queue,
            j.tenant
           FROM fairlead.jobs j
          WHERE (j.run_at IS NULL)
          ORDER BY j.queue, j.tenant
         LIMIT 1)
        UNION ALL
         SELECT n.queue,
            n.tenant
           FROM (lane l_1
             CROSS JOIN LATERAL ( SELECT j.queue,
                    j.tenant
                   FROM fairlead.jobs j
                  WHERE ((j.run_at IS NULL) AND (ROW(j.queue, j.tenant) > ROW(l_1.queue, l_1.tenant)))
                  ORDER BY j.queue, j.tenant
                 LIMIT 1) n)
        )
 SELECT l.queue,
    l.tenant,
    h.since AS oldest_pending_at
   FROM (lane l
     LEFT JOIN LATERAL ( SELECT COALESCE(j.due_at, j.created_at) AS since
           FROM fairlead.jobs j
          WHERE ((j.queue = l.queue) AND (j.tenant = l.tenant) AND (j.run_at IS NULL) AND (NOT (EXISTS ( SELECT
                   FROM fairlead.work_queue q
                  WHERE (q.job_id = j.id)
                 OFFSET 0))))
          ORDER BY j.rank, j.seq
         LIMIT 1) h ON (true));

CREATE TABLE fairlead.announced_kinds (
    worker bigint NOT NULL,
    kind text NOT NULL COLLATE pg_catalog."C",
    max_attempts integer,
    pool text COLLATE pg_catalog."C"
);

COMMENT ON TABLE fairlead.announced_kinds IS 'The kinds of worker_kinds, a row for each, for those who look for one kind.';

CREATE TABLE fairlead.attempt_errors (
    job_id bigint NOT NULL,
    token bigint,
    at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    attempt integer NOT NULL,
    ended_as text NOT NULL COLLATE pg_catalog."C",
    error text DEFAULT ''::text NOT NULL,
    tenant text COLLATE pg_catalog."C",
    CONSTRAINT attempt_errors_ended_as_is_known CHECK ((ended_as = ANY (ARRAY['failed'::text, 'crashed'::text, 'lost'::text, 'released'::text])))
);
ALTER TABLE ONLY fairlead.attempt_errors ALTER COLUMN error SET STATISTICS 0;

COMMENT ON TABLE fairlead.attempt_errors IS 'Attempts that ended without ending their job.';

CREATE TABLE fairlead.audit (
    id bigint NOT NULL,
    at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    verb text NOT NULL COLLATE pg_catalog."C",
    job_id bigint,
    queue text COLLATE pg_catalog."C",
    tenant text COLLATE pg_catalog."C",
    schedule text COLLATE pg_catalog."C",
    version bigint,
    details jsonb,
    reason text,
    actor text,
    login name DEFAULT SESSION_USER NOT NULL,
    application_name text DEFAULT current_setting('application_name'::text) NOT NULL
);

COMMENT ON TABLE fairlead.audit IS 'The audit log: who cancelled, retried, redrove, ran a schedule, paused, resumed, released a worker or its jobs, bound a login, or changed a priority, a schedule, the policy, where it is edited, or whose a database is by hand, when and why. Rows are only ever added, and swept after FAIRLEAD_HISTORY_DAYS_AUDIT days.';

COMMENT ON COLUMN fairlead.audit.job_id IS 'Of what: a job, a queue, a tenant, a schedule, a version of the policy.';

COMMENT ON COLUMN fairlead.audit.details IS 'What else there is to say, such as the columns that changed; never a payload.';

COMMENT ON COLUMN fairlead.audit.actor IS 'Who it was, as the session says in the setting fairlead.actor; login is who the database knows it was.';

ALTER TABLE fairlead.audit ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME fairlead.audit_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE UNLOGGED SEQUENCE fairlead.awaited_until
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;

COMMENT ON SEQUENCE fairlead.awaited_until IS 'Until when, in seconds since 1970, somebody waits for the ending of a job; no value: nobody has yet.';

CREATE TABLE fairlead.batch_jobs (
    batch bigint NOT NULL,
    place bigint NOT NULL,
    job_id bigint NOT NULL
)
WITH (autovacuum_vacuum_scale_factor='0', autovacuum_vacuum_threshold='10000', autovacuum_vacuum_cost_delay='0');

COMMENT ON TABLE fairlead.batch_jobs IS 'The jobs of batches that are not counted yet. A place is drawn while the batch is locked, so none becomes visible behind one that the leader has counted.';

ALTER TABLE fairlead.batch_jobs ALTER COLUMN place ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME fairlead.batch_jobs_place_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE VIEW fairlead.batch_status WITH (security_barrier='true') AS
 WITH asker AS MATERIALIZED (
         SELECT fairlead._reads_all() AS reads_all
        )
 SELECT b.id,
    b.tenant,
    b.queue,
    b.kind,
    b.priority,
        CASE
            WHEN (b.completion_job IS NOT NULL) THEN 'completed'::text
            WHEN (b.completed_at IS NOT NULL) THEN 'given_up'::text
            WHEN (b.problem IS NOT NULL) THEN 'refused'::text
            WHEN b.open THEN 'open'::text
            ELSE 'waiting'::text
        END AS state,
    (((((b.succeeded + b.failed) + b.cancelled) + b.expired) + b.unknown) + u.jobs) AS jobs,
    (u.jobs > 1000) AS jobs_is_more,
    b.succeeded,
    b.failed,
    b.cancelled,
    b.expired,
    b.unknown,
    u.jobs AS uncounted,
        CASE
            WHEN (b.completed_at IS NOT NULL) THEN NULL::text
            WHEN (b.problem IS NOT NULL) THEN b.problem
            WHEN f.unfinished THEN ('job '::text || f.job_id)
            WHEN (f.job_id IS NOT NULL) THEN 'the leader, which counts its jobs'::text
            WHEN b.open THEN 'close_batch'::text
            ELSE 'the leader, which inserts its completion'::text
        END AS waits_for,
    b.created_at,
    b.completed_at,
    b.completion_job,
    b.created_by
   FROM ((fairlead.batches b
     CROSS JOIN LATERAL ( SELECT count(*) AS jobs
           FROM ( SELECT
                   FROM fairlead.batch_jobs m
                  WHERE ((m.batch = b.id) AND (m.place > b.counted_to) AND (b.completed_at IS NULL))
                  ORDER BY m.place
                 LIMIT ( SELECT 1001)) n) u)
     LEFT JOIN LATERAL ( SELECT m.job_id,
            (EXISTS ( SELECT
                   FROM fairlead.jobs j
                  WHERE (j.id = m.job_id)
                 OFFSET 0)) AS unfinished
           FROM fairlead.batch_jobs m
          WHERE ((m.batch = b.id) AND (m.place > b.counted_to) AND (b.completed_at IS NULL))
          ORDER BY m.place
         LIMIT 1) f ON (true))
  WHERE (( SELECT a.reads_all
           FROM asker a) OR fairlead._owns_batch(b.tenant, b.created_by));

COMMENT ON VIEW fairlead.batch_status IS 'One row per batch that is the caller''s: how its jobs have ended, as far as they are counted, and what it waits for. state is open (until close_batch), waiting (for its jobs), refused (its completion cannot be inserted, which is tried again), completed, or given_up (nobody closed it, or it was erased). jobs has those that are not counted, too, a thousand at most, then jobs_is_more. Ask for it by id; list_batches lists by anything else.';

ALTER TABLE fairlead.batches ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME fairlead.batches_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE fairlead.claim_floors (
    pool text NOT NULL COLLATE pg_catalog."C",
    band smallint NOT NULL,
    vtag bigint NOT NULL
)
WITH (fillfactor='50', autovacuum_vacuum_scale_factor='0', autovacuum_vacuum_threshold='200');

COMMENT ON TABLE fairlead.claim_floors IS 'No unclaimed row is below the floor, so that a claim never walks over dead index entries.';

CREATE UNLOGGED SEQUENCE fairlead.endings_notify
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;

COMMENT ON SEQUENCE fairlead.endings_notify IS 'Has a value while every ending is to notify the leader, which has a lane that waits for one.';

CREATE TABLE fairlead.evictions (
    job_id bigint NOT NULL,
    token bigint NOT NULL,
    requested_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    for_queue text NOT NULL COLLATE pg_catalog."C",
    for_tenant text NOT NULL COLLATE pg_catalog."C"
)
WITH (autovacuum_vacuum_scale_factor='0', autovacuum_vacuum_threshold='200');

COMMENT ON TABLE fairlead.evictions IS 'Attempts that the leader has asked to stop, the last one of each job: kept for an hour, so that people can see it and that no job is asked again soon.';

COMMENT ON COLUMN fairlead.evictions.token IS 'The attempt that was asked; the request is void once the job has another token or none.';

COMMENT ON COLUMN fairlead.evictions.for_tenant IS 'The tenant that waited, of the queue for_queue.';

CREATE UNLOGGED TABLE fairlead.explain_requests (
    id bigint NOT NULL,
    asked_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    answered_at timestamp with time zone,
    job_id bigint NOT NULL,
    queue text NOT NULL COLLATE pg_catalog."C",
    tenant text NOT NULL COLLATE pg_catalog."C",
    ahead integer NOT NULL,
    answer jsonb,
    login name
)
WITH (autovacuum_vacuum_scale_factor='0', autovacuum_vacuum_threshold='200');

COMMENT ON TABLE fairlead.explain_requests IS 'Questions to the leader why a job does not run, and its answers; a minute old, they are forgotten.';

COMMENT ON COLUMN fairlead.explain_requests.ahead IS 'Jobs of the lane before this one, dispatched ones included; 10,000 is that or more.';

COMMENT ON COLUMN fairlead.explain_requests.login IS 'Who asked.';

ALTER TABLE fairlead.explain_requests ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME fairlead.explain_requests_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE UNLOGGED TABLE fairlead.fairness_reports (
    pool text NOT NULL COLLATE pg_catalog."C",
    epoch bigint NOT NULL,
    since timestamp with time zone NOT NULL,
    at timestamp with time zone NOT NULL,
    report jsonb NOT NULL
)
WITH (fillfactor='50', autovacuum_vacuum_scale_factor='0', autovacuum_vacuum_threshold='200', toast.autovacuum_vacuum_scale_factor='0', toast.autovacuum_vacuum_threshold='500');

COMMENT ON TABLE fairlead.fairness_reports IS 'How the slots of each pool were shared from since to at, by tenant. The leader writes it while jobs run or wait, every 5 s unless FAIRLEAD_REPORT_SECONDS says otherwise, and less often with thousands of tenants; it deletes that of a pool which the policy does not name once nothing has run there for a minute. tenant_shares shows it as rows.';

COMMENT ON COLUMN fairlead.fairness_reports.epoch IS 'The term of the leader that wrote it.';

COMMENT ON COLUMN fairlead.fairness_reports.report IS 'The sums, Jain''s index, the queues, at most 1,000 tenants, and the rest together as other.';

CREATE TABLE fairlead.floor_scans (
    pool text NOT NULL COLLATE pg_catalog."C",
    at timestamp with time zone DEFAULT '-infinity'::timestamp with time zone NOT NULL
)
WITH (fillfactor='50', autovacuum_vacuum_scale_factor='0', autovacuum_vacuum_threshold='200');

COMMENT ON TABLE fairlead.floor_scans IS 'When a worker of the pool last claimed below the floor. The leader adds a pool''s row with its floors.';

CREATE UNLOGGED SEQUENCE fairlead.inserts_notify
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;

COMMENT ON SEQUENCE fairlead.inserts_notify IS 'Has a value while every INSERT into jobs is to notify the leader, which sleeps.';

CREATE TABLE fairlead.job_history_succeeded (
    id bigint CONSTRAINT job_history_id_not_null NOT NULL,
    token bigint,
    worker bigint,
    created_at timestamp with time zone CONSTRAINT job_history_created_at_not_null NOT NULL,
    due_at timestamp with time zone,
    runnable_at timestamp with time zone,
    claimed_at timestamp with time zone,
    finished_at timestamp with time zone CONSTRAINT job_history_finished_at_not_null NOT NULL,
    retry_of bigint,
    retried_as bigint,
    policy_version bigint,
    attempt integer CONSTRAINT job_history_attempt_not_null NOT NULL,
    max_attempts integer,
    crashes integer CONSTRAINT job_history_crashes_not_null NOT NULL,
    losses integer CONSTRAINT job_history_losses_not_null NOT NULL,
    priority smallint CONSTRAINT job_history_priority_not_null NOT NULL,
    outcome text CONSTRAINT job_history_outcome_not_null NOT NULL COLLATE pg_catalog."C",
    queue text CONSTRAINT job_history_queue_not_null NOT NULL COLLATE pg_catalog."C",
    tenant text CONSTRAINT job_history_tenant_not_null NOT NULL COLLATE pg_catalog."C",
    kind text CONSTRAINT job_history_kind_not_null NOT NULL COLLATE pg_catalog."C",
    payload jsonb,
    timeout interval,
    cost_hint interval,
    dedup_key text COLLATE pg_catalog."C",
    headers jsonb,
    result jsonb,
    error text,
    enqueued_by text COLLATE pg_catalog."C"
)
PARTITION BY RANGE (finished_at);
ALTER TABLE ONLY fairlead.job_history_succeeded ALTER COLUMN payload SET STATISTICS 0;
ALTER TABLE ONLY fairlead.job_history_succeeded ALTER COLUMN dedup_key SET STATISTICS 0;
ALTER TABLE ONLY fairlead.job_history_succeeded ALTER COLUMN headers SET STATISTICS 0;
ALTER TABLE ONLY fairlead.job_history_succeeded ALTER COLUMN result SET STATISTICS 0;
ALTER TABLE ONLY fairlead.job_history_succeeded ALTER COLUMN error SET STATISTICS 0;

CREATE TABLE fairlead.job_history_succeeded_default (
    id bigint CONSTRAINT job_history_id_not_null NOT NULL,
    token bigint,
    worker bigint,
    created_at timestamp with time zone CONSTRAINT job_history_created_at_not_null NOT NULL,
    due_at timestamp with time zone,
    runnable_at timestamp with time zone,
    claimed_at timestamp with time zone,
    finished_at timestamp with time zone CONSTRAINT job_history_finished_at_not_null NOT NULL,
    retry_of bigint,
    retried_as bigint,
    policy_version bigint,
    attempt integer CONSTRAINT job_history_attempt_not_null NOT NULL,
    max_attempts integer,
    crashes integer CONSTRAINT job_history_crashes_not_null NOT NULL,
    losses integer CONSTRAINT job_history_losses_not_null NOT NULL,
    priority smallint CONSTRAINT job_history_priority_not_null NOT NULL,
    outcome text CONSTRAINT job_history_outcome_not_null NOT NULL COLLATE pg_catalog."C",
    queue text CONSTRAINT job_history_queue_not_null NOT NULL COLLATE pg_catalog."C",
    tenant text CONSTRAINT job_history_tenant_not_null NOT NULL COLLATE pg_catalog."C",
    kind text CONSTRAINT job_history_kind_not_null NOT NULL COLLATE pg_catalog."C",
    payload jsonb,
    timeout interval,
    cost_hint interval,
    dedup_key text COLLATE pg_catalog."C",
    headers jsonb,
    result jsonb,
    error text,
    enqueued_by text COLLATE pg_catalog."C"
);
ALTER TABLE ONLY fairlead.job_history_succeeded_default ALTER COLUMN payload SET STATISTICS 0;
ALTER TABLE ONLY fairlead.job_history_succeeded_default ALTER COLUMN dedup_key SET STATISTICS 0;
ALTER TABLE ONLY fairlead.job_history_succeeded_default ALTER COLUMN headers SET STATISTICS 0;
ALTER TABLE ONLY fairlead.job_history_succeeded_default ALTER COLUMN result SET STATISTICS 0;
ALTER TABLE ONLY fairlead.job_history_succeeded_default ALTER COLUMN error SET STATISTICS 0;

COMMENT ON COLUMN fairlead.job_history_succeeded_default.token IS 'Null when the job ended without being claimed.';

COMMENT ON COLUMN fairlead.job_history_succeeded_default.retried_as IS 'The newest job that repeats it. It stands here and not with that job, whose own ending may be forgotten sooner than this one.';

COMMENT ON COLUMN fairlead.job_history_succeeded_default.enqueued_by IS 'As in jobs.';

CREATE TABLE fairlead.job_history_unsuccessful (
    id bigint CONSTRAINT job_history_id_not_null NOT NULL,
    token bigint,
    worker bigint,
    created_at timestamp with time zone CONSTRAINT job_history_created_at_not_null NOT NULL,
    due_at timestamp with time zone,
    runnable_at timestamp with time zone,
    claimed_at timestamp with time zone,
    finished_at timestamp with time zone CONSTRAINT job_history_finished_at_not_null NOT NULL,
    retry_of bigint,
    retried_as bigint,
    policy_version bigint,
    attempt integer CONSTRAINT job_history_attempt_not_null NOT NULL,
    max_attempts integer,
    crashes integer CONSTRAINT job_history_crashes_not_null NOT NULL,
    losses integer CONSTRAINT job_history_losses_not_null NOT NULL,
    priority smallint CONSTRAINT job_history_priority_not_null NOT NULL,
    outcome text CONSTRAINT job_history_outcome_not_null NOT NULL COLLATE pg_catalog."C",
    queue text CONSTRAINT job_history_queue_not_null NOT NULL COLLATE pg_catalog."C",
    tenant text CONSTRAINT job_history_tenant_not_null NOT NULL COLLATE pg_catalog."C",
    kind text CONSTRAINT job_history_kind_not_null NOT NULL COLLATE pg_catalog."C",
    payload jsonb,
    timeout interval,
    cost_hint interval,
    dedup_key text COLLATE pg_catalog."C",
    headers jsonb,
    result jsonb,
    error text,
    enqueued_by text COLLATE pg_catalog."C"
)
PARTITION BY RANGE (finished_at);
ALTER TABLE ONLY fairlead.job_history_unsuccessful ALTER COLUMN payload SET STATISTICS 0;
ALTER TABLE ONLY fairlead.job_history_unsuccessful ALTER COLUMN dedup_key SET STATISTICS 0;
ALTER TABLE ONLY fairlead.job_history_unsuccessful ALTER COLUMN headers SET STATISTICS 0;
ALTER TABLE ONLY fairlead.job_history_unsuccessful ALTER COLUMN result SET STATISTICS 0;
ALTER TABLE ONLY fairlead.job_history_unsuccessful ALTER COLUMN error SET STATISTICS 0;

CREATE TABLE fairlead.job_history_unsuccessful_default (
    id bigint CONSTRAINT job_history_id_not_null NOT NULL,
    token bigint,
    worker bigint,
    created_at timestamp with time zone CONSTRAINT job_history_created_at_not_null NOT NULL,
    due_at timestamp with time zone,
    runnable_at timestamp with time zone,
    claimed_at timestamp with time zone,
    finished_at timestamp with time zone CONSTRAINT job_history_finished_at_not_null NOT NULL,
    retry_of bigint,
    retried_as bigint,
    policy_version bigint,
    attempt integer CONSTRAINT job_history_attempt_not_null NOT NULL,
    max_attempts integer,
    crashes integer CONSTRAINT job_history_crashes_not_null NOT NULL,
    losses integer CONSTRAINT job_history_losses_not_null NOT NULL,
    priority smallint CONSTRAINT job_history_priority_not_null NOT NULL,
    outcome text CONSTRAINT job_history_outcome_not_null NOT NULL COLLATE pg_catalog."C",
    queue text CONSTRAINT job_history_queue_not_null NOT NULL COLLATE pg_catalog."C",
    tenant text CONSTRAINT job_history_tenant_not_null NOT NULL COLLATE pg_catalog."C",
    kind text CONSTRAINT job_history_kind_not_null NOT NULL COLLATE pg_catalog."C",
    payload jsonb,
    timeout interval,
    cost_hint interval,
    dedup_key text COLLATE pg_catalog."C",
    headers jsonb,
    result jsonb,
    error text,
    enqueued_by text COLLATE pg_catalog."C"
);
ALTER TABLE ONLY fairlead.job_history_unsuccessful_default ALTER COLUMN payload SET STATISTICS 0;
ALTER TABLE ONLY fairlead.job_history_unsuccessful_default ALTER COLUMN dedup_key SET STATISTICS 0;
ALTER TABLE ONLY fairlead.job_history_unsuccessful_default ALTER COLUMN headers SET STATISTICS 0;
ALTER TABLE ONLY fairlead.job_history_unsuccessful_default ALTER COLUMN result SET STATISTICS 0;
ALTER TABLE ONLY fairlead.job_history_unsuccessful_default ALTER COLUMN error SET STATISTICS 0;

COMMENT ON COLUMN fairlead.job_history_unsuccessful_default.token IS 'Null when the job ended without being claimed.';

COMMENT ON COLUMN fairlead.job_history_unsuccessful_default.retried_as IS 'The newest job that repeats it. It stands here and not with that job, whose own ending may be forgotten sooner than this one.';

COMMENT ON COLUMN fairlead.job_history_unsuccessful_default.enqueued_by IS 'As in jobs.';

CREATE TABLE fairlead.job_progress (
    job_id bigint NOT NULL,
    token bigint NOT NULL,
    fraction real NOT NULL,
    note text DEFAULT ''::text NOT NULL,
    at timestamp with time zone DEFAULT now() NOT NULL,
    CONSTRAINT job_progress_fraction_is_between_0_and_1 CHECK (((fraction >= (0)::double precision) AND (fraction <= (1)::double precision)))
)
WITH (fillfactor='70', autovacuum_vacuum_scale_factor='0', autovacuum_vacuum_threshold='1000');
ALTER TABLE ONLY fairlead.job_progress ALTER COLUMN note SET STATISTICS 0;

COMMENT ON TABLE fairlead.job_progress IS 'How far a running job says that it is.';

CREATE VIEW fairlead.job_status WITH (security_barrier='true') AS
 WITH asker AS MATERIALIZED (
         SELECT fairlead._reads_all() AS reads_all
        )
 SELECT j.id,
    j.queue,
    j.tenant,
    j.kind,
    j.priority,
    j.payload,
    j.dedup_key,
    j.headers,
    j.retry_of,
        CASE
            WHEN (q.worker IS NOT NULL) THEN 'running'::text
            WHEN (q.job_id IS NOT NULL) THEN 'queued'::text
            WHEN (j.run_at IS NOT NULL) THEN 'scheduled'::text
            ELSE 'pending'::text
        END AS state,
    (LEAST(j.attempts, 2147483646) + ((q.worker IS NOT NULL))::integer) AS attempt,
    COALESCE(j.max_attempts, ( SELECT k.max_attempts
           FROM fairlead.announced_kinds k
          WHERE (k.kind = j.kind)
          ORDER BY k.worker DESC
         LIMIT 1), 20) AS max_attempts,
    j.crashes,
    j.losses,
    j.created_at,
    j.run_at,
    j.due_at,
    j.expires_at,
    q.runnable_at,
    q.claimed_at,
    q.deadline,
    NULL::timestamp with time zone AS finished_at,
    q.worker,
    q.token,
    j.cancel_requested_at,
    p.fraction AS progress,
    p.note AS progress_note,
    NULL::jsonb AS result,
    j.last_error AS error,
    j.enqueued_by
   FROM ((fairlead.jobs j
     LEFT JOIN LATERAL ( SELECT q_1.job_id,
            q_1.vtag,
            q_1.estimate_us,
            q_1.epoch,
            q_1.runnable_at,
            q_1.worker,
            q_1.token,
            q_1.claimed_at,
            q_1.deadline,
            q_1.timeout,
            q_1.band,
            q_1.alone,
            q_1.pool,
            q_1.queue,
            q_1.tenant,
            q_1.timeout_max,
            q_1.completed
           FROM fairlead.work_queue q_1
          WHERE (q_1.job_id = j.id)
         OFFSET 0) q ON (true))
     LEFT JOIN LATERAL ( SELECT p_1.job_id,
            p_1.token,
            p_1.fraction,
            p_1.note,
            p_1.at
           FROM fairlead.job_progress p_1
          WHERE ((p_1.job_id = j.id) AND (p_1.token = q.token))
         OFFSET 0) p ON (true))
  WHERE (( SELECT a.reads_all
           FROM asker a) OR fairlead._owns(j.tenant, j.enqueued_by))
UNION ALL
 SELECT h.id,
    h.queue,
    h.tenant,
    h.kind,
    h.priority,
    h.payload,
    h.dedup_key,
    h.headers,
    h.retry_of,
    h.outcome AS state,
    h.attempt,
    COALESCE(h.max_attempts, ( SELECT k.max_attempts
           FROM fairlead.announced_kinds k
          WHERE (k.kind = h.kind)
          ORDER BY k.worker DESC
         LIMIT 1), 20) AS max_attempts,
    h.crashes,
    h.losses,
    h.created_at,
    NULL::timestamp with time zone AS run_at,
    h.due_at,
    NULL::timestamp with time zone AS expires_at,
    h.runnable_at,
    h.claimed_at,
    NULL::timestamp with time zone AS deadline,
    h.finished_at,
    h.worker,
    h.token,
    NULL::timestamp with time zone AS cancel_requested_at,
    NULL::real AS progress,
    NULL::text AS progress_note,
    h.result,
    h.error,
    h.enqueued_by
   FROM fairlead.job_history h
  WHERE ((( SELECT a.reads_all
           FROM asker a) OR fairlead._owns(h.tenant, h.enqueued_by)) AND (NOT (EXISTS ( SELECT
           FROM fairlead.jobs j
          WHERE (j.id = h.id)))) AND (NOT (EXISTS ( SELECT
           FROM fairlead.job_history later
          WHERE ((later.id = h.id) AND (ROW(later.finished_at, COALESCE(later.token, (0)::bigint)) > ROW(h.finished_at, COALESCE(h.token, (0)::bigint))))))));

COMMENT ON VIEW fairlead.job_status IS 'One row per job that is the caller''s: where it is in its life, or how it ended. Ask for it by id; list_jobs lists by anything else.';

ALTER TABLE fairlead.jobs ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME fairlead.jobs_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE fairlead.leaders (
    role text NOT NULL COLLATE pg_catalog."C",
    holder text DEFAULT ''::text NOT NULL,
    epoch bigint DEFAULT 0 NOT NULL,
    lease_until timestamp with time zone DEFAULT '-infinity'::timestamp with time zone NOT NULL,
    taken_at timestamp with time zone DEFAULT '-infinity'::timestamp with time zone NOT NULL,
    release text DEFAULT ''::text NOT NULL COLLATE pg_catalog."C",
    timeline integer DEFAULT fairlead._timeline() NOT NULL,
    login name,
    CONSTRAINT leaders_release_is_at_most_128_bytes CHECK ((octet_length(release) <= 128))
)
WITH (fillfactor='50', autovacuum_vacuum_scale_factor='0', autovacuum_vacuum_threshold='200');

COMMENT ON TABLE fairlead.leaders IS 'Who leads, under which epoch, and until when.';

COMMENT ON COLUMN fairlead.leaders.release IS 'The release that owns this database, the same in every row: only its processes may lead. Empty: the first one with a name becomes its owner.';

COMMENT ON COLUMN fairlead.leaders.timeline IS 'The server''s timeline when the epoch began: under another one the epoch is over.';

COMMENT ON COLUMN fairlead.leaders.login IS 'Whose session acquired the lease: it, or a member of it, renews and releases it. Null: any scheduler''s.';

CREATE TABLE fairlead.over_backlog (
    id bigint NOT NULL,
    since timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    backlog_limit integer NOT NULL,
    reopens_at integer NOT NULL,
    queue text NOT NULL COLLATE pg_catalog."C",
    tenant text COLLATE pg_catalog."C"
)
WITH (fillfactor='50', autovacuum_vacuum_scale_factor='0', autovacuum_vacuum_threshold='200');

COMMENT ON TABLE fairlead.over_backlog IS 'Tenants of queues, and queues, with as many unfinished jobs as their backlog limit: no more are accepted.';

COMMENT ON COLUMN fairlead.over_backlog.reopens_at IS 'With so many unfinished jobs, or fewer, more are accepted again.';

COMMENT ON COLUMN fairlead.over_backlog.tenant IS 'Null is the queue itself.';

ALTER TABLE fairlead.over_backlog ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME fairlead.over_backlog_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE fairlead.paused (
    queue text NOT NULL COLLATE pg_catalog."C",
    tenant text COLLATE pg_catalog."C",
    since timestamp with time zone DEFAULT now() NOT NULL,
    until timestamp with time zone
);

COMMENT ON TABLE fairlead.paused IS 'Queues, and tenants of queues, that are not dispatched.';

COMMENT ON COLUMN fairlead.paused.until IS 'When the leader ends the pause, unless somebody resumes it before; null: only somebody does.';

CREATE TABLE fairlead.pod_drains (
    drain_until timestamp with time zone NOT NULL,
    drained_at timestamp with time zone,
    epoch bigint NOT NULL,
    pool text NOT NULL COLLATE pg_catalog."C",
    pod_uid text NOT NULL,
    CONSTRAINT pod_drains_pod_uid_is_1_to_128_bytes CHECK (((octet_length(pod_uid) >= 1) AND (octet_length(pod_uid) <= 128)))
)
WITH (fillfactor='50', autovacuum_vacuum_scale_factor='0', autovacuum_vacuum_threshold='200');

COMMENT ON TABLE fairlead.pod_drains IS 'Pods that take no more jobs until drain_until, by the database''s clock. The autoscaler writes a row and renews it; the pod''s worker writes drained_at once it holds nothing. Past drain_until a row says nothing.';

COMMENT ON COLUMN fairlead.pod_drains.drained_at IS 'Since when the pod holds nothing under this mark; null again whenever a mark begins anew.';

COMMENT ON COLUMN fairlead.pod_drains.epoch IS 'Of the autoscaler''s leader that wrote the mark last.';

CREATE TABLE fairlead.policy_events (
    id bigint NOT NULL,
    at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    version bigint,
    event text NOT NULL COLLATE pg_catalog."C",
    epoch bigint,
    said text DEFAULT ''::text NOT NULL,
    rule text DEFAULT ''::text NOT NULL COLLATE pg_catalog."C",
    hash text DEFAULT ''::text NOT NULL COLLATE pg_catalog."C",
    author text DEFAULT ''::text NOT NULL,
    CONSTRAINT policy_events_event_is_known CHECK ((event = ANY (ARRAY['stored'::text, 'in_force'::text, 'refused'::text, 'rule_disabled'::text]))),
    CONSTRAINT policy_events_hash_is_12_hexadecimal_digits CHECK ((hash ~ '^([0-9a-f]{12})?$'::text)),
    CONSTRAINT policy_events_hash_is_of_a_refused_document CHECK ((((version IS NULL) = (hash <> ''::text)) AND ((version IS NOT NULL) OR (event = 'refused'::text)))),
    CONSTRAINT policy_events_rule_is_of_a_disabled_one CHECK (((rule <> ''::text) = (event = 'rule_disabled'::text)))
);

COMMENT ON TABLE fairlead.policy_events IS 'What became of each policy version: stored, in force, refused, or one of its rules disabled, and why; without a version, of a document that was refused and so not stored.';

COMMENT ON COLUMN fairlead.policy_events.epoch IS 'The term of the leader; null for a stored one.';

COMMENT ON COLUMN fairlead.policy_events.rule IS 'The rule that was disabled because its condition took too long or had no value.';

COMMENT ON COLUMN fairlead.policy_events.hash IS 'Of a document that was not stored: the first 12 hexadecimal digits of the SHA-256 of its text.';

COMMENT ON COLUMN fairlead.policy_events.author IS 'Who wanted to store it; empty for a version, which has its own.';

ALTER TABLE fairlead.policy_events ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME fairlead.policy_events_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE UNLOGGED TABLE fairlead.policy_shadow (
    pool text NOT NULL COLLATE pg_catalog."C",
    at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    report jsonb,
    said text DEFAULT ''::text NOT NULL
)
WITH (fillfactor='50', autovacuum_vacuum_scale_factor='0', autovacuum_vacuum_threshold='200');

COMMENT ON TABLE fairlead.policy_shadow IS 'What the last simulation of the shadow policy said, a row for each pool; the leader writes it.';

COMMENT ON COLUMN fairlead.policy_shadow.said IS 'Why there is no report.';

CREATE TABLE fairlead.policy_versions (
    version bigint NOT NULL,
    stored_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    digest text NOT NULL COLLATE pg_catalog."C",
    author text NOT NULL,
    reason text DEFAULT ''::text NOT NULL,
    document text NOT NULL,
    CONSTRAINT policy_versions_author_is_1_to_128_bytes CHECK (((octet_length(author) >= 1) AND (octet_length(author) <= 128))),
    CONSTRAINT policy_versions_digest_is_12_hexadecimal_digits CHECK ((digest ~ '^[0-9a-f]{12}$'::text)),
    CONSTRAINT policy_versions_document_is_1_byte_to_256_kib CHECK (((octet_length(document) >= 1) AND (octet_length(document) <= 262144))),
    CONSTRAINT policy_versions_reason_is_at_most_1_kib CHECK ((octet_length(reason) <= 1024))
);

COMMENT ON TABLE fairlead.policy_versions IS 'Every policy document that was stored; rows are only ever added. In force is the newest that the leader can read: policy_events says which, and fairlead policy history.';

COMMENT ON COLUMN fairlead.policy_versions.digest IS 'Names what the document says: the same for two documents of one meaning.';

ALTER TABLE fairlead.policy_versions ALTER COLUMN version ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME fairlead.policy_versions_version_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE fairlead.pool_decisions (
    epoch bigint NOT NULL,
    at timestamp with time zone NOT NULL,
    pool text NOT NULL COLLATE pg_catalog."C",
    decision jsonb NOT NULL
)
WITH (fillfactor='50', autovacuum_vacuum_scale_factor='0', autovacuum_vacuum_threshold='200');

COMMENT ON TABLE fairlead.pool_decisions IS 'How many pods the autoscaler wants each pool to have, and why. It writes a row when that changes, and once a minute while it does not; `fairlead autoscaler explain` shows it.';

COMMENT ON COLUMN fairlead.pool_decisions.at IS 'When it was decided.';

CREATE TABLE fairlead.pool_demand (
    epoch bigint NOT NULL,
    at timestamp with time zone NOT NULL,
    became_runnable_total bigint NOT NULL,
    work_slot_seconds double precision NOT NULL,
    slots_useful integer NOT NULL,
    slots_allowed integer NOT NULL,
    service_mean double precision NOT NULL,
    service_variance double precision NOT NULL,
    oldest_runnable_at timestamp with time zone,
    scheduled_slot_seconds double precision[] NOT NULL,
    pool text NOT NULL COLLATE pg_catalog."C",
    slots_kept integer DEFAULT 0 NOT NULL,
    fires jsonb DEFAULT '[]'::jsonb NOT NULL,
    CONSTRAINT pool_demand_fires_is_an_array CHECK ((jsonb_typeof(fires) = 'array'::text)),
    CONSTRAINT pool_demand_is_never_negative CHECK (((became_runnable_total >= 0) AND (work_slot_seconds >= (0)::double precision) AND (slots_useful >= 0) AND (slots_allowed >= slots_useful) AND (service_mean >= (0)::double precision) AND (service_variance >= (0)::double precision))),
    CONSTRAINT pool_demand_keeps_some_of_the_useful CHECK (((slots_kept >= 0) AND (slots_kept <= slots_useful))),
    CONSTRAINT pool_demand_scheduled_slot_seconds_has_4_places CHECK ((cardinality(scheduled_slot_seconds) = 4))
)
WITH (fillfactor='50', autovacuum_vacuum_scale_factor='0', autovacuum_vacuum_threshold='200');

COMMENT ON TABLE fairlead.pool_demand IS 'What each pool that has autoscale in the policy needs, as if it had its maximum of slots. The scheduler''s leader writes it at most once a second; an old row says nothing.';

COMMENT ON COLUMN fairlead.pool_demand.epoch IS 'The leader''s: under another one became_runnable_total counts from elsewhere.';

COMMENT ON COLUMN fairlead.pool_demand.at IS 'When the leader counted, not when it wrote.';

COMMENT ON COLUMN fairlead.pool_demand.became_runnable_total IS 'Jobs that the policy came to allow to run since the epoch began.';

COMMENT ON COLUMN fairlead.pool_demand.work_slot_seconds IS 'Of jobs that may run now and have not started: how long they take, by estimate.';

COMMENT ON COLUMN fairlead.pool_demand.slots_useful IS 'Slots that what runs and what may run now would take at once.';

COMMENT ON COLUMN fairlead.pool_demand.slots_allowed IS 'Slots that the policy lets the pool''s lanes use together, however many jobs come to wait in them: at most those of its maximum, at least slots_useful.';

COMMENT ON COLUMN fairlead.pool_demand.service_mean IS 'Seconds that a job takes; while none has ended, what the policy''s estimator begins with.';

COMMENT ON COLUMN fairlead.pool_demand.service_variance IS 'Seconds squared, between jobs.';

COMMENT ON COLUMN fairlead.pool_demand.oldest_runnable_at IS 'Since when the oldest job that may run waits; null: there is none.';

COMMENT ON COLUMN fairlead.pool_demand.scheduled_slot_seconds IS 'Work that falls due within the next 5, 20, 60 and 180 seconds.';

COMMENT ON COLUMN fairlead.pool_demand.slots_kept IS 'Of slots_useful, those that no job uses: fairness.reserve keeps them for short jobs beside long ones.';

COMMENT ON COLUMN fairlead.pool_demand.fires IS 'What schedules will fire within the next 600 s, the soonest first: for each five seconds in which some do, when these begin in seconds since 1970, how many jobs that is, and how long they take, by estimate.';

CREATE TABLE fairlead.pool_logins (
    login name NOT NULL,
    pool text NOT NULL COLLATE pg_catalog."C"
);

COMMENT ON TABLE fairlead.pool_logins IS 'The pools that a worker''s login may serve. A login that is not listed, and is a member of none that is, may serve all.';

CREATE TABLE fairlead.pool_owners (
    pool text NOT NULL COLLATE pg_catalog."C",
    release text NOT NULL COLLATE pg_catalog."C",
    since timestamp with time zone DEFAULT now() NOT NULL,
    CONSTRAINT pool_owners_pool_is_1_to_128_bytes CHECK (((octet_length(pool) >= 1) AND (octet_length(pool) <= 128))),
    CONSTRAINT pool_owners_release_is_1_to_128_bytes CHECK (((octet_length(release) >= 1) AND (octet_length(release) <= 128)))
);

COMMENT ON TABLE fairlead.pool_owners IS 'The release whose workers serve a pool: the first one with a name whose worker came.';

CREATE VIEW fairlead.queue_stats AS
 WITH RECURSIVE named AS (
        ( SELECT j.queue
           FROM fairlead.jobs j
          WHERE (j.run_at IS NULL)
          ORDER BY j.queue
         LIMIT 1)
        UNION ALL
         SELECT n.queue
           FROM (named l
             CROSS JOIN LATERAL ( SELECT j.queue
                   FROM fairlead.jobs j
                  WHERE ((j.run_at IS NULL) AND (j.queue > l.queue))
                  ORDER BY j.queue
                 LIMIT 1) n)
        )
 SELECT queue,
    (GREATEST(((sum(due) - (sum(queued))::numeric) - (sum(running))::numeric), (0)::numeric))::bigint AS pending,
    (sum(due) > (10000)::numeric) AS pending_is_more,
    sum(queued) AS queued,
    sum(running) AS running,
    sum(scheduled) AS scheduled,
    min(next_run_at) AS next_run_at,
    sum(tenants) AS tenants,
    min(oldest_pending_at) AS oldest_pending_at,
    bool_or(paused) AS paused,
    (sum(sum(scheduled)) OVER () > (10000)::numeric) AS scheduled_is_more,
    max(paused_until) AS paused_until
   FROM ( SELECT n.queue,
            d.due,
            0 AS tenants,
            NULL::timestamp with time zone AS oldest_pending_at,
            0 AS queued,
            0 AS running,
            0 AS scheduled,
            NULL::timestamp with time zone AS next_run_at,
            false AS paused,
            NULL::timestamp with time zone AS paused_until
           FROM (named n
             CROSS JOIN LATERAL ( SELECT count(*) AS due
                   FROM ( SELECT
                           FROM fairlead.jobs j
                          WHERE ((j.queue = n.queue) AND (j.run_at IS NULL))
                          ORDER BY j.tenant, j.rank, j.seq
                         LIMIT ( SELECT 10001)) b) d)
        UNION ALL
         SELECT l.queue,
            0,
            1,
            l.oldest_pending_at,
            0,
            0,
            0,
            NULL::timestamp with time zone,
            false,
            NULL::timestamp with time zone
           FROM fairlead._lanes l
        UNION ALL
         SELECT q.queue,
            (q.completed)::integer AS completed,
            0,
            NULL::timestamp with time zone,
            ((q.worker IS NULL))::integer AS int4,
            ((q.worker IS NOT NULL))::integer AS int4,
            0,
            NULL::timestamp with time zone,
            false,
            NULL::timestamp with time zone
           FROM fairlead.work_queue q
        UNION ALL
        ( SELECT j.queue,
            0,
            0,
            NULL::timestamp with time zone,
            0,
            0,
            1,
            j.run_at,
            false,
            NULL::timestamp with time zone
           FROM fairlead.jobs j
          WHERE (j.run_at IS NOT NULL)
          ORDER BY j.run_at
         LIMIT ( SELECT 10001))
        UNION ALL
         SELECT p.queue,
            0,
            0,
            NULL::timestamp with time zone,
            0,
            0,
            0,
            NULL::timestamp with time zone,
            true,
            p.until
           FROM fairlead.paused p
          WHERE (p.tenant IS NULL)) s
  WHERE ( SELECT (fairlead._sees_all() OR fairlead._reads_all()))
  GROUP BY queue
 HAVING (count(DISTINCT 1) > 0);

COMMENT ON VIEW fairlead.queue_stats IS 'Queues with unfinished work, for logins that see every tenant. What is due is counted up to 10,000 a queue, then pending_is_more; scheduled counts the next 10,000 jobs to fall due, and scheduled_is_more says that there are others, of whichever queue.';

CREATE TABLE fairlead.rate_usage (
    pool text NOT NULL COLLATE pg_catalog."C",
    queue text NOT NULL COLLATE pg_catalog."C",
    tenant text COLLATE pg_catalog."C",
    per_us bigint NOT NULL,
    tat_us bigint NOT NULL
)
WITH (fillfactor='50', autovacuum_vacuum_scale_factor='0', autovacuum_vacuum_threshold='200');

COMMENT ON TABLE fairlead.rate_usage IS 'How far each rate is used up: until when its window is spoken for (GCRA). Written with the dispatch.';

COMMENT ON COLUMN fairlead.rate_usage.tat_us IS 'Microseconds since 1970, by the database''s clock.';

ALTER TABLE fairlead.receipts ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME fairlead.receipts_id_seq
    LOGGED
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE fairlead.schedule_fires (
    tenant text NOT NULL COLLATE pg_catalog."C",
    schedule text NOT NULL COLLATE pg_catalog."C",
    fire_time timestamp with time zone NOT NULL,
    fired_at timestamp with time zone DEFAULT now() NOT NULL
);

COMMENT ON TABLE fairlead.schedule_fires IS 'Each fire of each schedule, once, whichever process fired it.';

CREATE TABLE fairlead.schedules (
    name text NOT NULL COLLATE pg_catalog."C",
    cron text NOT NULL,
    timezone text DEFAULT 'UTC'::text NOT NULL,
    missed text DEFAULT 'coalesce'::text NOT NULL COLLATE pg_catalog."C",
    enabled boolean DEFAULT true NOT NULL,
    queue text DEFAULT 'default'::text NOT NULL COLLATE pg_catalog."C",
    tenant text DEFAULT ''::text NOT NULL COLLATE pg_catalog."C",
    kind text NOT NULL COLLATE pg_catalog."C",
    payload jsonb DEFAULT '{}'::jsonb NOT NULL,
    priority smallint DEFAULT 0 NOT NULL,
    max_attempts integer,
    timeout interval,
    expires_in interval,
    headers jsonb DEFAULT '{}'::jsonb NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    considered_until timestamp with time zone,
    problem text,
    created_by text DEFAULT SESSION_USER COLLATE pg_catalog."C",
    changes bigint DEFAULT 0 NOT NULL,
    declared_by text COLLATE pg_catalog."C",
    CONSTRAINT schedules_cron_is_five_or_six_fields CHECK (((octet_length(cron) <= 256) AND (cron ~ '^\s*(\S+\s+){4,5}\S+\s*$'::text))),
    CONSTRAINT schedules_expires_in_is_between_1_s_and_365_days CHECK (((expires_in >= '00:00:01'::interval) AND (expires_in <= '365 days'::interval))),
    CONSTRAINT schedules_headers_are_an_object_of_at_most_4_kib CHECK (((jsonb_typeof(headers) = 'object'::text) AND (octet_length((headers)::text) <= 4096))),
    CONSTRAINT schedules_headers_are_nested_500_deep_numbers_below_1e4000 CHECK (((octet_length((headers)::text) < 1000) OR ((NOT jsonb_path_exists(headers, '$.**{500}'::jsonpath)) AND (NOT jsonb_path_exists(headers, 'strict $.**?(@.type() == "number" && (@ >= 10000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000 || @ <= -10000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000))'::jsonpath))))),
    CONSTRAINT schedules_kind_is_1_to_128_bytes CHECK (((octet_length(kind) >= 1) AND (octet_length(kind) <= 128))),
    CONSTRAINT schedules_max_attempts_is_between_1_and_1000 CHECK (((max_attempts >= 1) AND (max_attempts <= 1000))),
    CONSTRAINT schedules_missed_is_skip_coalesce_or_catch_up CHECK ((missed = ANY (ARRAY['skip'::text, 'coalesce'::text, 'catch_up'::text]))),
    CONSTRAINT schedules_name_is_1_to_128_bytes CHECK (((octet_length(name) >= 1) AND (octet_length(name) <= 128))),
    CONSTRAINT schedules_priority_is_between_minus_100_and_100 CHECK (((priority >= '-100'::integer) AND (priority <= 100))),
    CONSTRAINT schedules_queue_is_1_to_128_bytes CHECK (((octet_length(queue) >= 1) AND (octet_length(queue) <= 128))),
    CONSTRAINT schedules_tenant_is_at_most_128_bytes CHECK ((octet_length(tenant) <= 128)),
    CONSTRAINT schedules_timeout_is_between_1_ms_and_30_days CHECK (((timeout >= '00:00:00.001'::interval) AND (timeout <= '30 days'::interval))),
    CONSTRAINT schedules_timezone_is_known CHECK (((timezone <> ''::text) AND (('2000-01-01 00:00:00+00'::timestamp with time zone AT TIME ZONE timezone) IS NOT NULL)))
);
ALTER TABLE ONLY fairlead.schedules ALTER COLUMN name SET STATISTICS 0;
ALTER TABLE ONLY fairlead.schedules ALTER COLUMN cron SET STATISTICS 0;
ALTER TABLE ONLY fairlead.schedules ALTER COLUMN timezone SET STATISTICS 0;
ALTER TABLE ONLY fairlead.schedules ALTER COLUMN missed SET STATISTICS 0;
ALTER TABLE ONLY fairlead.schedules ALTER COLUMN queue SET STATISTICS 0;
ALTER TABLE ONLY fairlead.schedules ALTER COLUMN tenant SET STATISTICS 0;
ALTER TABLE ONLY fairlead.schedules ALTER COLUMN kind SET STATISTICS 0;
ALTER TABLE ONLY fairlead.schedules ALTER COLUMN payload SET STATISTICS 0;
ALTER TABLE ONLY fairlead.schedules ALTER COLUMN headers SET STATISTICS 0;
ALTER TABLE ONLY fairlead.schedules ALTER COLUMN problem SET STATISTICS 0;
ALTER TABLE ONLY fairlead.schedules ALTER COLUMN created_by SET STATISTICS 0;
ALTER TABLE ONLY fairlead.schedules ALTER COLUMN declared_by SET STATISTICS 0;

COMMENT ON TABLE fairlead.schedules IS 'Templates of jobs and when to insert them.';

COMMENT ON COLUMN fairlead.schedules.name IS 'What it is called; unique per tenant.';

COMMENT ON COLUMN fairlead.schedules.cron IS 'Five fields, or six with seconds first.';

COMMENT ON COLUMN fairlead.schedules.timezone IS 'An IANA zone; fire times are local to it.';

COMMENT ON COLUMN fairlead.schedules.missed IS 'Fires missed while no leader ran or it was disabled: skip them, coalesce them into one, or catch_up on each.';

COMMENT ON COLUMN fairlead.schedules.enabled IS 'Whether it fires. When it is enabled again, missed says what becomes of the fires in between.';

COMMENT ON COLUMN fairlead.schedules.queue IS 'The queue of its jobs, and so on: as in jobs.';

COMMENT ON COLUMN fairlead.schedules.expires_in IS 'Each job expires this long after its fire time.';

COMMENT ON COLUMN fairlead.schedules.considered_until IS 'Every fire time up to here has been fired or deliberately passed over.';

COMMENT ON COLUMN fairlead.schedules.problem IS 'Why the leader cannot fire it; null when it can.';

COMMENT ON COLUMN fairlead.schedules.created_by IS 'The login that inserted it, or another that is no administrator''s and changed it since.';

COMMENT ON COLUMN fairlead.schedules.changes IS 'How often more of it was changed than how far it has fired.';

COMMENT ON COLUMN fairlead.schedules.declared_by IS 'The application that declares it in its code, and removes it when it does no more; null: made by hand.';

CREATE TABLE fairlead.schema_versions (
    version integer NOT NULL,
    name text NOT NULL,
    compatible_from integer NOT NULL,
    applied_at timestamp with time zone DEFAULT now() NOT NULL
);

COMMENT ON TABLE fairlead.schema_versions IS 'Which migrations ran; the newest row says which code can run on this schema.';

CREATE VIEW fairlead.tenant_shares WITH (security_barrier='true') AS
 SELECT r.pool,
    s.queue,
    s.tenant,
    s.weight,
    s.share,
    s.entitled_share,
    s.slot_seconds,
    s.lag_slot_seconds,
    s.running,
    s.queued,
    s.oldest_wait_seconds,
    s.mean_run_seconds,
    s.blocked_by,
    s.blocked_since,
    r.since,
    r.at
   FROM (fairlead.fairness_reports r
     CROSS JOIN LATERAL jsonb_to_recordset((r.report -> 'tenants'::text)) s(queue text, tenant text, weight double precision, share double precision, entitled_share double precision, slot_seconds double precision, lag_slot_seconds double precision, running bigint, queued bigint, oldest_wait_seconds double precision, mean_run_seconds double precision, blocked_by text, blocked_since timestamp with time zone))
  WHERE (( SELECT (fairlead._sees_all() OR fairlead._reads_all())) OR fairlead._sees(s.tenant));

COMMENT ON VIEW fairlead.tenant_shares IS 'What each tenant had of its pool''s slots from since to at, and what it was entitled to: at most the 1,000 that had most. lag_slot_seconds is what it had beyond that: below zero it is behind.';

CREATE VIEW fairlead.tenant_stats WITH (security_barrier='true') AS
 SELECT queue,
    tenant,
    (GREATEST(((sum(due) - (sum(queued))::numeric) - (sum(running))::numeric), (0)::numeric))::bigint AS pending,
    (sum(due) > (1000)::numeric) AS pending_is_more,
    sum(queued) AS queued,
    sum(running) AS running,
    min(oldest_pending_at) AS oldest_pending_at,
    min(oldest_runnable_at) AS oldest_runnable_at
   FROM ( SELECT l.queue,
            l.tenant,
            d.due,
            l.oldest_pending_at,
            0 AS queued,
            0 AS running,
            NULL::timestamp with time zone AS oldest_runnable_at
           FROM (fairlead._lanes l
             CROSS JOIN LATERAL ( SELECT count(*) AS due
                   FROM ( SELECT
                           FROM fairlead.jobs j
                          WHERE ((j.queue = l.queue) AND (j.tenant = l.tenant) AND (j.run_at IS NULL))
                          ORDER BY j.rank, j.seq
                         LIMIT ( SELECT 1001)) b) d)
        UNION ALL
         SELECT q.queue,
            q.tenant,
            (q.completed)::integer AS completed,
            NULL::timestamp with time zone,
            ((q.worker IS NULL))::integer AS int4,
            ((q.worker IS NOT NULL))::integer AS int4,
                CASE
                    WHEN (q.worker IS NULL) THEN q.runnable_at
                    ELSE NULL::timestamp with time zone
                END AS "case"
           FROM fairlead.work_queue q) s
  WHERE (( SELECT (fairlead._sees_all() OR fairlead._reads_all())) OR fairlead._sees(tenant))
  GROUP BY queue, tenant
 HAVING (count(DISTINCT 1) > 0);

COMMENT ON VIEW fairlead.tenant_stats IS 'Tenants with work that is due; it is counted up to 1,000 a tenant, then pending_is_more. oldest_pending_at is that of the job at the head of the lane.';

CREATE SEQUENCE fairlead.tokens
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;

COMMENT ON SEQUENCE fairlead.tokens IS 'Fencing tokens: every claim draws a new one, and adds 10^12 for each timeline of the server after the first.';

CREATE TABLE fairlead.unique_periods (
    queue text NOT NULL COLLATE pg_catalog."C",
    tenant text NOT NULL COLLATE pg_catalog."C",
    key_digest bytea NOT NULL,
    until timestamp with time zone NOT NULL
);
ALTER TABLE ONLY fairlead.unique_periods ALTER COLUMN queue SET STATISTICS 0;
ALTER TABLE ONLY fairlead.unique_periods ALTER COLUMN tenant SET STATISTICS 0;
ALTER TABLE ONLY fairlead.unique_periods ALTER COLUMN key_digest SET STATISTICS 0;

COMMENT ON TABLE fairlead.unique_periods IS 'Dedup keys under which no job is inserted until an instant, because one was inserted with unique_for.';

COMMENT ON COLUMN fairlead.unique_periods.key_digest IS 'SHA-256 of the dedup key.';

CREATE UNLOGGED TABLE fairlead.waits (
    job_id bigint NOT NULL,
    until timestamp with time zone NOT NULL
);

COMMENT ON TABLE fairlead.waits IS 'Jobs whose endings are to be notified, each until an instant: somebody waits for them.';

CREATE TABLE fairlead.worker_kind_limits (
    worker bigint NOT NULL,
    pool text NOT NULL COLLATE pg_catalog."C",
    kind text NOT NULL COLLATE pg_catalog."C",
    at_most integer NOT NULL,
    known boolean DEFAULT false NOT NULL,
    fleet text DEFAULT ''::text NOT NULL COLLATE pg_catalog."C",
    CONSTRAINT worker_kind_limits_are_positive CHECK ((at_most >= 1))
);

COMMENT ON TABLE fairlead.worker_kind_limits IS 'How many attempts of a kind a worker says may run at once in the fleet. Of the live workers of a pool the smallest number holds; where none of them has the kind, the last that was said.';

COMMENT ON COLUMN fairlead.worker_kind_limits.known IS 'Whether the leader holds to it, so that no more than that wait to be claimed: the worker claims nothing before.';

COMMENT ON COLUMN fairlead.worker_kind_limits.fleet IS 'Whose limits of the kind count together: the login of pool_logins that the worker is bound by, or empty.';

CREATE TABLE fairlead.worker_kinds (
    worker bigint NOT NULL,
    kinds text[] NOT NULL COLLATE pg_catalog."C",
    max_attempts integer[] NOT NULL,
    at_most_once boolean[],
    CONSTRAINT worker_kinds_are_at_most_10000 CHECK ((cardinality(kinds) <= 10000)),
    CONSTRAINT worker_kinds_are_in_as_many_marks CHECK ((cardinality(kinds) = cardinality(at_most_once))),
    CONSTRAINT worker_kinds_are_in_as_many_places CHECK ((cardinality(kinds) = cardinality(max_attempts))),
    CONSTRAINT worker_kinds_are_lists CHECK ((fairlead._is_list(kinds) AND fairlead._is_list(max_attempts) AND fairlead._is_list(at_most_once)))
);

COMMENT ON TABLE fairlead.worker_kinds IS 'The kinds for which a worker has handlers, and how many attempts a job of each has that does not say. One that has no row here may have any.';

COMMENT ON COLUMN fairlead.worker_kinds.at_most_once IS 'Of which kinds no job begins again that may have begun on this worker; null: of none.';

CREATE TABLE fairlead.worker_leases (
    id bigint NOT NULL,
    started_at timestamp with time zone DEFAULT now() NOT NULL,
    lease_until timestamp with time zone NOT NULL,
    dead_at timestamp with time zone,
    slots integer NOT NULL,
    name text NOT NULL,
    pool text NOT NULL COLLATE pg_catalog."C",
    host text DEFAULT ''::text NOT NULL,
    pod_uid text,
    pod_name text,
    version text DEFAULT ''::text NOT NULL,
    slots_full integer,
    draining boolean DEFAULT false NOT NULL,
    beside integer DEFAULT 0 NOT NULL,
    releases_slots boolean DEFAULT false NOT NULL,
    crash_breakers jsonb,
    evictable_kinds text[],
    login name DEFAULT SESSION_USER NOT NULL,
    CONSTRAINT worker_leases_beside_is_never_negative CHECK ((beside >= 0)),
    CONSTRAINT worker_leases_slots_full_is_positive CHECK ((slots_full > 0)),
    CONSTRAINT worker_leases_slots_is_positive CHECK ((slots > 0))
)
WITH (fillfactor='50', autovacuum_vacuum_scale_factor='0', autovacuum_vacuum_threshold='200');

COMMENT ON TABLE fairlead.worker_leases IS 'One row per worker process: its lease, renewed every few seconds. Read it as the view workers.';

COMMENT ON COLUMN fairlead.worker_leases.slots_full IS 'Slots that it has once all of its processes are up; slots are those of the ones that are. Null: it does not say, as a program from before this column.';

COMMENT ON COLUMN fairlead.worker_leases.draining IS 'Its claims are refused. Its renewal sets this when its pod is marked, and takes it back before it claims again.';

COMMENT ON COLUMN fairlead.worker_leases.beside IS 'Jobs that it holds without a slot, because they wait for a process in which each runs alone, or for their kind''s concurrency: the scheduler finds room for so many more.';

COMMENT ON COLUMN fairlead.worker_leases.releases_slots IS 'Whether it deletes the work_queue row of a job that complete has finished, once the handler is over; false: complete deletes it, as a worker in another language expects.';

COMMENT ON COLUMN fairlead.worker_leases.crash_breakers IS 'Pairs of kind and tenant whose circuit breaker is open on it: their jobs run one at a time there. At most 100 are listed; null: none.';

COMMENT ON COLUMN fairlead.worker_leases.evictable_kinds IS 'Kinds whose handlers agreed to be asked to stop and run again later. At most 1,000 are listed; null: none.';

COMMENT ON COLUMN fairlead.worker_leases.login IS 'The login that registered it; with members of that login it alone acts for the worker.';

ALTER TABLE fairlead.worker_leases ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME fairlead.worker_leases_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE VIEW fairlead.workers AS
 SELECT w.id,
    w.name,
    w.pool,
    w.host,
    w.pod_uid,
    w.pod_name,
    w.slots,
    COALESCE(q.running, (0)::bigint) AS running,
    w.version,
    w.started_at,
    w.lease_until,
    w.dead_at,
        CASE
            WHEN (w.dead_at IS NOT NULL) THEN 'dead'::text
            WHEN (w.lease_until < now()) THEN 'lapsed'::text
            ELSE 'live'::text
        END AS state,
    COALESCE(w.slots_full, w.slots) AS slots_full,
    d.drain_until,
    d.drained_at,
    LEAST(GREATEST((q.running - w.slots), (w.beside)::bigint, (0)::bigint), COALESCE(q.running, (0)::bigint)) AS held
   FROM ((fairlead.worker_leases w
     LEFT JOIN ( SELECT work_queue.worker,
            count(*) AS running
           FROM fairlead.work_queue
          WHERE (work_queue.worker IS NOT NULL)
          GROUP BY work_queue.worker) q ON ((q.worker = w.id)))
     LEFT JOIN fairlead.pod_drains d ON (((d.pod_uid = w.pod_uid) AND (d.drain_until > now()))));

COMMENT ON VIEW fairlead.workers IS 'Worker processes, their leases and what they have leased: running, of which held are those that no slot is free for yet. drain_until is that of a mark in force: the pod takes no more jobs until then.';

ALTER TABLE ONLY fairlead.job_history ATTACH PARTITION fairlead.job_history_succeeded FOR VALUES IN ('succeeded');

ALTER TABLE ONLY fairlead.job_history_succeeded ATTACH PARTITION fairlead.job_history_succeeded_default DEFAULT;

ALTER TABLE ONLY fairlead.job_history ATTACH PARTITION fairlead.job_history_unsuccessful FOR VALUES IN ('failed', 'cancelled', 'expired');

ALTER TABLE ONLY fairlead.job_history_unsuccessful ATTACH PARTITION fairlead.job_history_unsuccessful_default DEFAULT;

ALTER TABLE ONLY fairlead.announced_kinds
    ADD CONSTRAINT announced_kinds_pkey PRIMARY KEY (worker, kind);

ALTER TABLE ONLY fairlead.audit
    ADD CONSTRAINT audit_pkey PRIMARY KEY (at, id);

ALTER TABLE ONLY fairlead.batch_jobs
    ADD CONSTRAINT batch_jobs_pkey PRIMARY KEY (batch, place);

ALTER TABLE ONLY fairlead.batches
    ADD CONSTRAINT batches_pkey PRIMARY KEY (id);

ALTER TABLE ONLY fairlead.claim_floors
    ADD CONSTRAINT claim_floors_pkey PRIMARY KEY (pool, band);

ALTER TABLE ONLY fairlead.evictions
    ADD CONSTRAINT evictions_pkey PRIMARY KEY (job_id);

ALTER TABLE ONLY fairlead.explain_requests
    ADD CONSTRAINT explain_requests_pkey PRIMARY KEY (id);

ALTER TABLE ONLY fairlead.fairness_reports
    ADD CONSTRAINT fairness_reports_pkey PRIMARY KEY (pool);

ALTER TABLE ONLY fairlead.floor_scans
    ADD CONSTRAINT floor_scans_pkey PRIMARY KEY (pool);

ALTER TABLE ONLY fairlead.install_options
    ADD CONSTRAINT install_options_pkey PRIMARY KEY (only_row);

ALTER TABLE ONLY fairlead.job_progress
    ADD CONSTRAINT job_progress_pkey PRIMARY KEY (job_id);

ALTER TABLE ONLY fairlead.jobs
    ADD CONSTRAINT jobs_pkey PRIMARY KEY (id);

ALTER TABLE ONLY fairlead.leaders
    ADD CONSTRAINT leaders_pkey PRIMARY KEY (role);

ALTER TABLE ONLY fairlead.over_backlog
    ADD CONSTRAINT over_backlog_once UNIQUE NULLS NOT DISTINCT (queue, tenant);

ALTER TABLE ONLY fairlead.over_backlog
    ADD CONSTRAINT over_backlog_pkey PRIMARY KEY (id);

ALTER TABLE ONLY fairlead.paused
    ADD CONSTRAINT paused_once UNIQUE NULLS NOT DISTINCT (queue, tenant);

ALTER TABLE ONLY fairlead.pod_drains
    ADD CONSTRAINT pod_drains_pkey PRIMARY KEY (pod_uid);

ALTER TABLE ONLY fairlead.policy_events
    ADD CONSTRAINT policy_events_once UNIQUE NULLS NOT DISTINCT (version, event, epoch, rule, hash);

ALTER TABLE ONLY fairlead.policy_events
    ADD CONSTRAINT policy_events_pkey PRIMARY KEY (id);

ALTER TABLE ONLY fairlead.policy_shadow
    ADD CONSTRAINT policy_shadow_pkey PRIMARY KEY (pool);

ALTER TABLE ONLY fairlead.policy_versions
    ADD CONSTRAINT policy_versions_pkey PRIMARY KEY (version);

ALTER TABLE ONLY fairlead.pool_decisions
    ADD CONSTRAINT pool_decisions_pkey PRIMARY KEY (pool);

ALTER TABLE ONLY fairlead.pool_demand
    ADD CONSTRAINT pool_demand_pkey PRIMARY KEY (pool);

ALTER TABLE ONLY fairlead.pool_logins
    ADD CONSTRAINT pool_logins_pkey PRIMARY KEY (login, pool);

ALTER TABLE ONLY fairlead.pool_owners
    ADD CONSTRAINT pool_owners_pkey PRIMARY KEY (pool);

ALTER TABLE ONLY fairlead.rate_usage
    ADD CONSTRAINT rate_usage_once UNIQUE NULLS NOT DISTINCT (pool, queue, tenant, per_us);

ALTER TABLE ONLY fairlead.receipts
    ADD CONSTRAINT receipts_pkey PRIMARY KEY (id);

ALTER TABLE ONLY fairlead.schedule_fires
    ADD CONSTRAINT schedule_fires_pkey PRIMARY KEY (tenant, schedule, fire_time);

ALTER TABLE ONLY fairlead.schedules
    ADD CONSTRAINT schedules_pkey PRIMARY KEY (tenant, name);

ALTER TABLE ONLY fairlead.schema_versions
    ADD CONSTRAINT schema_versions_pkey PRIMARY KEY (version);

ALTER TABLE ONLY fairlead.tenant_logins
    ADD CONSTRAINT tenant_logins_pkey PRIMARY KEY (login, tenant);

ALTER TABLE ONLY fairlead.unique_periods
    ADD CONSTRAINT unique_periods_pkey PRIMARY KEY (queue, tenant, key_digest);

ALTER TABLE ONLY fairlead.work_queue
    ADD CONSTRAINT work_queue_pkey PRIMARY KEY (job_id);

ALTER TABLE ONLY fairlead.worker_kind_limits
    ADD CONSTRAINT worker_kind_limits_pkey PRIMARY KEY (worker, kind);

ALTER TABLE ONLY fairlead.worker_kinds
    ADD CONSTRAINT worker_kinds_pkey PRIMARY KEY (worker);

ALTER TABLE ONLY fairlead.worker_leases
    ADD CONSTRAINT worker_leases_pkey PRIMARY KEY (id);

CREATE INDEX announced_kinds_newest ON fairlead.announced_kinds USING btree (kind, worker DESC);

CREATE INDEX announced_kinds_pool ON fairlead.announced_kinds USING btree (pool, kind, worker DESC);

CREATE INDEX attempt_errors_age ON fairlead.attempt_errors USING btree (at);

CREATE INDEX attempt_errors_job ON fairlead.attempt_errors USING btree (job_id, at);

CREATE INDEX audit_job ON fairlead.audit USING btree (job_id, at) WHERE (job_id IS NOT NULL);

CREATE INDEX batches_age ON fairlead.batches USING btree (completed_at) WHERE (completed_at IS NOT NULL);

CREATE INDEX batches_tenant ON fairlead.batches USING btree (tenant, id);

CREATE INDEX batches_unfinished ON fairlead.batches USING btree (id) WHERE (completed_at IS NULL);

CREATE INDEX batches_unfinished_of ON fairlead.batches USING btree (created_by, tenant) WHERE (completed_at IS NULL);

CREATE INDEX evictions_requested ON fairlead.evictions USING btree (requested_at);

CREATE INDEX explain_requests_job ON fairlead.explain_requests USING btree (job_id, id);

CREATE INDEX explain_requests_login ON fairlead.explain_requests USING btree (login, id) WHERE (answered_at IS NULL);

CREATE INDEX explain_requests_open ON fairlead.explain_requests USING btree (id) WHERE (answered_at IS NULL);

CREATE INDEX job_history_id ON ONLY fairlead.job_history USING btree (id);

CREATE INDEX job_history_redrive ON ONLY fairlead.job_history_unsuccessful USING btree (queue, finished_at, id) WHERE ((outcome = 'failed'::text) AND (retried_as IS NULL));

CREATE INDEX job_history_succeeded_id_idx ON ONLY fairlead.job_history_succeeded USING btree (id);

CREATE INDEX job_history_succeeded_default_id_idx ON fairlead.job_history_succeeded_default USING btree (id);

CREATE INDEX job_history_tenant ON ONLY fairlead.job_history_unsuccessful USING btree (tenant, id) WHERE (tenant >= ''::text);

CREATE INDEX job_history_unsuccessful_id_idx ON ONLY fairlead.job_history_unsuccessful USING btree (id);

CREATE INDEX job_history_unsuccessful_default_id_idx ON fairlead.job_history_unsuccessful_default USING btree (id);

CREATE INDEX job_history_unsuccessful_default_queue_finished_at_id_idx ON fairlead.job_history_unsuccessful_default USING btree (queue, finished_at, id) WHERE ((outcome = 'failed'::text) AND (retried_as IS NULL));

CREATE INDEX job_history_unsuccessful_default_tenant_id_idx ON fairlead.job_history_unsuccessful_default USING btree (tenant, id) WHERE (tenant >= ''::text);

CREATE UNIQUE INDEX jobs_dedup ON fairlead.jobs USING btree (queue, tenant, dedup_key) WHERE (dedup_key IS NOT NULL);

CREATE INDEX jobs_due ON fairlead.jobs USING btree (run_at) INCLUDE (queue, tenant) WHERE (run_at IS NOT NULL);

CREATE INDEX jobs_expiry ON fairlead.jobs USING btree (expires_at) WHERE (expires_at IS NOT NULL);

CREATE INDEX jobs_lane ON fairlead.jobs USING btree (queue, tenant, rank, seq) WHERE (run_at IS NULL);

CREATE INDEX jobs_lane_times ON fairlead.jobs USING btree (queue, tenant, run_at, expires_at) WHERE (num_nonnulls(run_at, expires_at) > 0);

CREATE UNIQUE INDEX leaders_epoch ON fairlead.leaders USING btree (role, epoch);

CREATE INDEX paused_until ON fairlead.paused USING btree (until) WHERE (until IS NOT NULL);

CREATE INDEX policy_events_refused ON fairlead.policy_events USING btree (id) WHERE (version IS NULL);

CREATE INDEX schedule_fires_age ON fairlead.schedule_fires USING btree (fired_at);

CREATE INDEX schedules_declared ON fairlead.schedules USING btree (declared_by, tenant, name) WHERE (declared_by IS NOT NULL);

CREATE INDEX schedules_login ON fairlead.schedules USING btree (COALESCE(created_by, ''::text), tenant, name);
ALTER INDEX fairlead.schedules_login ALTER COLUMN 1 SET STATISTICS 0;

CREATE INDEX unique_periods_until ON fairlead.unique_periods USING btree (until);

CREATE INDEX waits_job ON fairlead.waits USING btree (job_id);

CREATE INDEX waits_until ON fairlead.waits USING btree (until);

CREATE INDEX work_queue_claim_order ON fairlead.work_queue USING btree (pool, band, vtag, job_id) WHERE (band >= 0);

CREATE INDEX worker_kind_limits_newest ON fairlead.worker_kind_limits USING btree (pool, kind, worker DESC);

CREATE INDEX worker_kind_limits_smallest ON fairlead.worker_kind_limits USING btree (pool, kind, at_most, worker DESC);

CREATE INDEX worker_kind_limits_unknown ON fairlead.worker_kind_limits USING btree (pool, kind) WHERE (NOT known);

CREATE INDEX worker_leases_dead ON fairlead.worker_leases USING btree (dead_at) WHERE (dead_at IS NOT NULL);

CREATE INDEX worker_leases_live ON fairlead.worker_leases USING btree (name) WHERE (dead_at IS NULL);

ALTER INDEX fairlead.job_history_succeeded_id_idx ATTACH PARTITION fairlead.job_history_succeeded_default_id_idx;

ALTER INDEX fairlead.job_history_id ATTACH PARTITION fairlead.job_history_succeeded_id_idx;

ALTER INDEX fairlead.job_history_unsuccessful_id_idx ATTACH PARTITION fairlead.job_history_unsuccessful_default_id_idx;

ALTER INDEX fairlead.job_history_redrive ATTACH PARTITION fairlead.job_history_unsuccessful_default_queue_finished_at_id_idx;

ALTER INDEX fairlead.job_history_tenant ATTACH PARTITION fairlead.job_history_unsuccessful_default_tenant_id_idx;

ALTER INDEX fairlead.job_history_id ATTACH PARTITION fairlead.job_history_unsuccessful_id_idx;

CREATE TRIGGER audit_stays BEFORE UPDATE OR TRUNCATE ON fairlead.audit FOR EACH STATEMENT EXECUTE FUNCTION fairlead._audit_stays();

CREATE TRIGGER audit_stays_for_30_days BEFORE DELETE ON fairlead.audit FOR EACH ROW WHEN ((old.at > (now() - '30 days'::interval))) EXECUTE FUNCTION fairlead._audit_stays();

CREATE TRIGGER batches_admit BEFORE INSERT ON fairlead.batches FOR EACH ROW EXECUTE FUNCTION fairlead._admit_batch();

CREATE TRIGGER install_options_audit_policy_source AFTER UPDATE ON fairlead.install_options FOR EACH ROW WHEN (((old.policy_source IS DISTINCT FROM new.policy_source) OR (old.policy_place IS DISTINCT FROM new.policy_place))) EXECUTE FUNCTION fairlead._audit_policy_source();

CREATE TRIGGER jobs_admit BEFORE INSERT ON fairlead.jobs FOR EACH ROW EXECUTE FUNCTION fairlead._admit_job();

CREATE TRIGGER jobs_is_not_truncated BEFORE TRUNCATE ON fairlead.jobs FOR EACH STATEMENT EXECUTE FUNCTION fairlead._refuse_truncation();

CREATE TRIGGER jobs_join_batch AFTER INSERT ON fairlead.jobs FOR EACH ROW WHEN ((new.batch IS NOT NULL)) EXECUTE FUNCTION fairlead._join_batch();

CREATE TRIGGER jobs_wake_scheduler BEFORE INSERT ON fairlead.jobs FOR EACH STATEMENT EXECUTE FUNCTION fairlead._wake_scheduler();

CREATE TRIGGER pod_drains_mark_anew BEFORE UPDATE OF drain_until ON fairlead.pod_drains FOR EACH ROW WHEN (((old.drain_until <= now()) AND (new.drain_until > now()))) EXECUTE FUNCTION fairlead._mark_anew();

CREATE TRIGGER policy_versions_stay BEFORE DELETE OR UPDATE OR TRUNCATE ON fairlead.policy_versions FOR EACH STATEMENT EXECUTE FUNCTION fairlead._policy_versions_stay();

CREATE TRIGGER pool_logins_audit_bound AFTER INSERT ON fairlead.pool_logins REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION fairlead._audit_logins('bind_login');

CREATE TRIGGER pool_logins_audit_former AFTER UPDATE ON fairlead.pool_logins REFERENCING OLD TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION fairlead._audit_logins('unbind_login');

CREATE TRIGGER pool_logins_audit_rebound AFTER UPDATE ON fairlead.pool_logins REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION fairlead._audit_logins('bind_login');

CREATE TRIGGER pool_logins_audit_unbound AFTER DELETE ON fairlead.pool_logins REFERENCING OLD TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION fairlead._audit_logins('unbind_login');

CREATE TRIGGER receipts_wake_scheduler BEFORE INSERT ON fairlead.receipts FOR EACH ROW WHEN ((new.ended IS NOT NULL)) EXECUTE FUNCTION fairlead._wake_scheduler_at_ending();

CREATE TRIGGER schedules_admit BEFORE INSERT OR UPDATE OF payload ON fairlead.schedules FOR EACH ROW EXECUTE FUNCTION fairlead._admit_schedule();

CREATE TRIGGER schedules_audit_added AFTER INSERT ON fairlead.schedules REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION fairlead._audit_schedules();

CREATE TRIGGER schedules_audit_changed AFTER UPDATE ON fairlead.schedules REFERENCING OLD TABLE AS former NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION fairlead._audit_changed_schedules();

CREATE TRIGGER schedules_audit_removed AFTER DELETE ON fairlead.schedules REFERENCING OLD TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION fairlead._audit_schedules();

CREATE TRIGGER schedules_begin_anew BEFORE UPDATE OF cron, timezone ON fairlead.schedules FOR EACH ROW WHEN ((((old.cron IS DISTINCT FROM new.cron) OR (old.timezone IS DISTINCT FROM new.timezone)) AND (NOT (new.considered_until IS DISTINCT FROM old.considered_until)))) EXECUTE FUNCTION fairlead._begin_schedule_anew();

CREATE TRIGGER schedules_count_change BEFORE UPDATE OF cron, timezone, missed, enabled, queue, kind, payload, priority, max_attempts, timeout, expires_in, headers, created_by, changes ON fairlead.schedules FOR EACH ROW EXECUTE FUNCTION fairlead._count_schedule_change();

CREATE TRIGGER schedules_take BEFORE UPDATE OF cron, timezone, missed, enabled, queue, kind, payload, priority, max_attempts, timeout, expires_in, headers ON fairlead.schedules FOR EACH ROW WHEN (((new.created_by IS DISTINCT FROM (SESSION_USER)::text) AND ((((((((((((old.cron IS DISTINCT FROM new.cron) OR (old.timezone IS DISTINCT FROM new.timezone)) OR (old.missed IS DISTINCT FROM new.missed)) OR (old.enabled IS DISTINCT FROM new.enabled)) OR (old.queue IS DISTINCT FROM new.queue)) OR (old.kind IS DISTINCT FROM new.kind)) OR (old.payload IS DISTINCT FROM new.payload)) OR (old.priority IS DISTINCT FROM new.priority)) OR (old.max_attempts IS DISTINCT FROM new.max_attempts)) OR (old.timeout IS DISTINCT FROM new.timeout)) OR (old.expires_in IS DISTINCT FROM new.expires_in)) OR (old.headers IS DISTINCT FROM new.headers)))) EXECUTE FUNCTION fairlead._take_schedule();

CREATE TRIGGER tenant_logins_audit_bound AFTER INSERT ON fairlead.tenant_logins REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION fairlead._audit_logins('bind_login');

CREATE TRIGGER tenant_logins_audit_former AFTER UPDATE ON fairlead.tenant_logins REFERENCING OLD TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION fairlead._audit_logins('unbind_login');

CREATE TRIGGER tenant_logins_audit_rebound AFTER UPDATE ON fairlead.tenant_logins REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION fairlead._audit_logins('bind_login');

CREATE TRIGGER tenant_logins_audit_unbound AFTER DELETE ON fairlead.tenant_logins REFERENCING OLD TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION fairlead._audit_logins('unbind_login');

ALTER TABLE ONLY fairlead.announced_kinds
    ADD CONSTRAINT announced_kinds_worker_fkey FOREIGN KEY (worker) REFERENCES fairlead.worker_kinds(worker) ON DELETE CASCADE;

ALTER TABLE ONLY fairlead.policy_events
    ADD CONSTRAINT policy_events_version_fkey FOREIGN KEY (version) REFERENCES fairlead.policy_versions(version);

ALTER TABLE ONLY fairlead.worker_kind_limits
    ADD CONSTRAINT worker_kind_limits_worker_fkey FOREIGN KEY (worker) REFERENCES fairlead.worker_leases(id) ON DELETE CASCADE;

ALTER TABLE ONLY fairlead.worker_kinds
    ADD CONSTRAINT worker_kinds_worker_fkey FOREIGN KEY (worker) REFERENCES fairlead.worker_leases(id) ON DELETE CASCADE;

CREATE POLICY any_tenant ON fairlead.batches FOR INSERT WITH CHECK (true);

CREATE POLICY any_tenant ON fairlead.jobs FOR INSERT WITH CHECK (true);

CREATE POLICY any_tenant ON fairlead.schedules FOR INSERT WITH CHECK (true);

ALTER TABLE fairlead.batches ENABLE ROW LEVEL SECURITY;

CREATE POLICY bound_workers_enqueue_where_they_hold_a_job ON fairlead.batches AS RESTRICTIVE FOR INSERT TO fairlead_worker WITH CHECK (COALESCE((queue = ANY (( SELECT fairlead._follow_ups() AS _follow_ups)::text[])), true));

CREATE POLICY bound_workers_enqueue_where_they_hold_a_job ON fairlead.jobs AS RESTRICTIVE FOR INSERT TO fairlead_worker WITH CHECK (COALESCE((queue = ANY (( SELECT fairlead._follow_ups() AS _follow_ups)::text[])), true));

CREATE POLICY fairlead_admin_sees_all ON fairlead.batches TO fairlead_admin USING (true) WITH CHECK (true);

CREATE POLICY fairlead_admin_sees_all ON fairlead.jobs TO fairlead_admin USING (true) WITH CHECK (true);

CREATE POLICY fairlead_admin_sees_all ON fairlead.schedules TO fairlead_admin USING (true) WITH CHECK (true);

CREATE POLICY fairlead_autoscaler_sees_all ON fairlead.batches TO fairlead_autoscaler USING (true) WITH CHECK (true);

CREATE POLICY fairlead_autoscaler_sees_all ON fairlead.jobs TO fairlead_autoscaler USING (true) WITH CHECK (true);

CREATE POLICY fairlead_autoscaler_sees_all ON fairlead.schedules TO fairlead_autoscaler USING (true) WITH CHECK (true);

CREATE POLICY fairlead_operator_sees_all ON fairlead.batches TO fairlead_operator USING (true) WITH CHECK (true);

CREATE POLICY fairlead_operator_sees_all ON fairlead.jobs TO fairlead_operator USING (true) WITH CHECK (true);

CREATE POLICY fairlead_operator_sees_all ON fairlead.schedules TO fairlead_operator USING (true) WITH CHECK (true);

CREATE POLICY fairlead_reader_reads_all ON fairlead.batches FOR SELECT TO fairlead_reader USING (true);

CREATE POLICY fairlead_reader_reads_all ON fairlead.jobs FOR SELECT TO fairlead_reader USING (true);

CREATE POLICY fairlead_reader_reads_all ON fairlead.schedules FOR SELECT TO fairlead_reader USING (true);

CREATE POLICY fairlead_scheduler_sees_all ON fairlead.batches TO fairlead_scheduler USING (true) WITH CHECK (true);

CREATE POLICY fairlead_scheduler_sees_all ON fairlead.jobs TO fairlead_scheduler USING (true) WITH CHECK (true);

CREATE POLICY fairlead_scheduler_sees_all ON fairlead.schedules TO fairlead_scheduler USING (true) WITH CHECK (true);

CREATE POLICY fairlead_viewer_reads_all ON fairlead.batches FOR SELECT TO fairlead_viewer USING (true);

CREATE POLICY fairlead_viewer_reads_all ON fairlead.jobs FOR SELECT TO fairlead_viewer USING (true);

CREATE POLICY fairlead_viewer_reads_all ON fairlead.schedules FOR SELECT TO fairlead_viewer USING (true);

ALTER TABLE fairlead.jobs ENABLE ROW LEVEL SECURITY;

CREATE POLICY own_rows ON fairlead.batches USING ((created_by = SESSION_USER));

CREATE POLICY own_rows ON fairlead.jobs USING ((enqueued_by = SESSION_USER));

CREATE POLICY own_rows ON fairlead.schedules USING ((created_by = SESSION_USER));

ALTER TABLE fairlead.schedules ENABLE ROW LEVEL SECURITY;

GRANT USAGE ON SCHEMA fairlead TO fairlead_enqueue;
GRANT USAGE ON SCHEMA fairlead TO fairlead_reader;
GRANT USAGE ON SCHEMA fairlead TO fairlead_viewer;
GRANT USAGE ON SCHEMA fairlead TO fairlead_worker;
GRANT USAGE ON SCHEMA fairlead TO fairlead_operator;
GRANT USAGE ON SCHEMA fairlead TO fairlead_scheduler;
GRANT USAGE ON SCHEMA fairlead TO fairlead_autoscaler;
GRANT USAGE ON SCHEMA fairlead TO fairlead_admin;

REVOKE ALL ON FUNCTION fairlead._acquire_leadership(my_name text, lease_seconds double precision, my_release text, OUT epoch bigint, OUT fault text) FROM PUBLIC;
GRANT ALL ON FUNCTION fairlead._acquire_leadership(my_name text, lease_seconds double precision, my_release text, OUT epoch bigint, OUT fault text) TO fairlead_scheduler;

REVOKE ALL ON FUNCTION fairlead._acts_for(login name) FROM PUBLIC;

REVOKE ALL ON FUNCTION fairlead._is_member(of_role text) FROM PUBLIC;

REVOKE ALL ON FUNCTION fairlead._administers() FROM PUBLIC;

REVOKE ALL ON FUNCTION fairlead._administrators() FROM PUBLIC;
GRANT ALL ON FUNCTION fairlead._administrators() TO fairlead_scheduler;

REVOKE ALL ON FUNCTION fairlead._admit_batch() FROM PUBLIC;

REVOKE ALL ON FUNCTION fairlead._admit_job() FROM PUBLIC;

REVOKE ALL ON FUNCTION fairlead._admit_schedule() FROM PUBLIC;

GRANT USAGE ON SEQUENCE fairlead.places TO fairlead_enqueue;
GRANT USAGE ON SEQUENCE fairlead.places TO fairlead_worker;
GRANT USAGE ON SEQUENCE fairlead.places TO fairlead_scheduler;
GRANT SELECT,USAGE ON SEQUENCE fairlead.places TO fairlead_admin;
GRANT SELECT ON SEQUENCE fairlead.places TO fairlead_viewer;
GRANT SELECT ON SEQUENCE fairlead.places TO fairlead_operator;

GRANT SELECT,INSERT ON TABLE fairlead.jobs TO fairlead_scheduler;
GRANT SELECT ON TABLE fairlead.jobs TO fairlead_viewer;
GRANT SELECT ON TABLE fairlead.jobs TO fairlead_operator;
GRANT SELECT ON TABLE fairlead.jobs TO fairlead_admin;

GRANT SELECT(id) ON TABLE fairlead.jobs TO fairlead_enqueue;
GRANT SELECT(id) ON TABLE fairlead.jobs TO fairlead_worker;
GRANT SELECT(id) ON TABLE fairlead.jobs TO fairlead_autoscaler;

GRANT UPDATE(seq) ON TABLE fairlead.jobs TO fairlead_scheduler;

GRANT INSERT(run_at) ON TABLE fairlead.jobs TO fairlead_enqueue;
GRANT INSERT(run_at) ON TABLE fairlead.jobs TO fairlead_worker;
GRANT INSERT(run_at) ON TABLE fairlead.jobs TO fairlead_admin;
GRANT UPDATE(run_at) ON TABLE fairlead.jobs TO fairlead_scheduler;
GRANT SELECT(run_at) ON TABLE fairlead.jobs TO fairlead_autoscaler;

GRANT INSERT(expires_at) ON TABLE fairlead.jobs TO fairlead_enqueue;
GRANT INSERT(expires_at) ON TABLE fairlead.jobs TO fairlead_worker;
GRANT INSERT(expires_at) ON TABLE fairlead.jobs TO fairlead_admin;

GRANT UPDATE(due_at) ON TABLE fairlead.jobs TO fairlead_scheduler;

GRANT INSERT(max_attempts) ON TABLE fairlead.jobs TO fairlead_enqueue;
GRANT INSERT(max_attempts) ON TABLE fairlead.jobs TO fairlead_worker;
GRANT INSERT(max_attempts) ON TABLE fairlead.jobs TO fairlead_admin;

GRANT INSERT(priority) ON TABLE fairlead.jobs TO fairlead_enqueue;
GRANT INSERT(priority) ON TABLE fairlead.jobs TO fairlead_worker;
GRANT INSERT(priority) ON TABLE fairlead.jobs TO fairlead_admin;

GRANT SELECT(queue),INSERT(queue) ON TABLE fairlead.jobs TO fairlead_enqueue;
GRANT SELECT(queue),INSERT(queue) ON TABLE fairlead.jobs TO fairlead_worker;
GRANT INSERT(queue) ON TABLE fairlead.jobs TO fairlead_admin;
GRANT SELECT(queue) ON TABLE fairlead.jobs TO fairlead_autoscaler;

GRANT SELECT(tenant),INSERT(tenant) ON TABLE fairlead.jobs TO fairlead_enqueue;
GRANT SELECT(tenant),INSERT(tenant) ON TABLE fairlead.jobs TO fairlead_worker;
GRANT INSERT(tenant) ON TABLE fairlead.jobs TO fairlead_admin;

GRANT INSERT(kind) ON TABLE fairlead.jobs TO fairlead_enqueue;
GRANT INSERT(kind) ON TABLE fairlead.jobs TO fairlead_worker;
GRANT INSERT(kind) ON TABLE fairlead.jobs TO fairlead_admin;

GRANT INSERT(payload) ON TABLE fairlead.jobs TO fairlead_enqueue;
GRANT INSERT(payload) ON TABLE fairlead.jobs TO fairlead_worker;
GRANT INSERT(payload) ON TABLE fairlead.jobs TO fairlead_admin;

GRANT INSERT(timeout) ON TABLE fairlead.jobs TO fairlead_enqueue;
GRANT INSERT(timeout) ON TABLE fairlead.jobs TO fairlead_worker;
GRANT INSERT(timeout) ON TABLE fairlead.jobs TO fairlead_admin;

GRANT INSERT(cost_hint) ON TABLE fairlead.jobs TO fairlead_enqueue;
GRANT INSERT(cost_hint) ON TABLE fairlead.jobs TO fairlead_worker;
GRANT INSERT(cost_hint) ON TABLE fairlead.jobs TO fairlead_admin;

GRANT SELECT(dedup_key),INSERT(dedup_key) ON TABLE fairlead.jobs TO fairlead_enqueue;
GRANT SELECT(dedup_key),INSERT(dedup_key) ON TABLE fairlead.jobs TO fairlead_worker;
GRANT INSERT(dedup_key) ON TABLE fairlead.jobs TO fairlead_admin;

GRANT INSERT(headers) ON TABLE fairlead.jobs TO fairlead_enqueue;
GRANT INSERT(headers) ON TABLE fairlead.jobs TO fairlead_worker;
GRANT INSERT(headers) ON TABLE fairlead.jobs TO fairlead_admin;

GRANT INSERT(batch) ON TABLE fairlead.jobs TO fairlead_enqueue;
GRANT INSERT(batch) ON TABLE fairlead.jobs TO fairlead_worker;
GRANT INSERT(batch) ON TABLE fairlead.jobs TO fairlead_admin;

REVOKE ALL ON FUNCTION fairlead._admit_unusual(job fairlead.jobs) FROM PUBLIC;

REVOKE ALL ON FUNCTION fairlead._assign_pool(pool text, release text) FROM PUBLIC;
GRANT ALL ON FUNCTION fairlead._assign_pool(pool text, release text) TO fairlead_admin;

REVOKE ALL ON FUNCTION fairlead._attempts_of(max_attempts integer, kind text, worker bigint) FROM PUBLIC;

REVOKE ALL ON FUNCTION fairlead._audit_changed_schedules() FROM PUBLIC;

REVOKE ALL ON FUNCTION fairlead._audit_logins() FROM PUBLIC;

REVOKE ALL ON FUNCTION fairlead._audit_policy_source() FROM PUBLIC;

REVOKE ALL ON FUNCTION fairlead._audit_schedules() FROM PUBLIC;

REVOKE ALL ON FUNCTION fairlead._audit_stays() FROM PUBLIC;

REVOKE ALL ON FUNCTION fairlead._autoscaler_leads(my_epoch bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION fairlead._autoscaler_leads(my_epoch bigint) TO fairlead_autoscaler;

REVOKE ALL ON FUNCTION fairlead._await_ending(job_id bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION fairlead._await_ending(job_id bigint) TO fairlead_enqueue;
GRANT ALL ON FUNCTION fairlead._await_ending(job_id bigint) TO fairlead_reader;
GRANT ALL ON FUNCTION fairlead._await_ending(job_id bigint) TO fairlead_viewer;
GRANT ALL ON FUNCTION fairlead._await_ending(job_id bigint) TO fairlead_scheduler;
GRANT ALL ON FUNCTION fairlead._await_ending(job_id bigint) TO fairlead_operator;
GRANT ALL ON FUNCTION fairlead._await_ending(job_id bigint) TO fairlead_admin;

REVOKE ALL ON FUNCTION fairlead._awaited() FROM PUBLIC;
GRANT ALL ON FUNCTION fairlead._awaited() TO fairlead_worker;

REVOKE ALL ON FUNCTION fairlead._backlog_bit(lane text) FROM PUBLIC;
GRANT ALL ON FUNCTION fairlead._backlog_bit(lane text) TO fairlead_scheduler;

REVOKE ALL ON FUNCTION fairlead._backoff(failures integer) FROM PUBLIC;

REVOKE ALL ON FUNCTION fairlead._begin_autoscaler_epoch(my_name text, my_release text) FROM PUBLIC;
GRANT ALL ON FUNCTION fairlead._begin_autoscaler_epoch(my_name text, my_release text) TO fairlead_autoscaler;

REVOKE ALL ON FUNCTION fairlead._begin_in_quarantine(of_job bigint, of_token bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION fairlead._begin_in_quarantine(of_job bigint, of_token bigint) TO fairlead_worker;

REVOKE ALL ON FUNCTION fairlead._begin_schedule_anew() FROM PUBLIC;

REVOKE ALL ON FUNCTION fairlead._bytes_at_once() FROM PUBLIC;

REVOKE ALL ON FUNCTION fairlead._cancel_jobs(queue text, tenant text, kind text, after_id bigint, jobs_max integer, OUT ended integer, OUT requested integer, OUT locked integer, OUT reached_id bigint, OUT taken_bytes bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION fairlead._cancel_jobs(queue text, tenant text, kind text, after_id bigint, jobs_max integer, OUT ended integer, OUT requested integer, OUT locked integer, OUT reached_id bigint, OUT taken_bytes bigint) TO fairlead_enqueue;
GRANT ALL ON FUNCTION fairlead._cancel_jobs(queue text, tenant text, kind text, after_id bigint, jobs_max integer, OUT ended integer, OUT requested integer, OUT locked integer, OUT reached_id bigint, OUT taken_bytes bigint) TO fairlead_operator;
GRANT ALL ON FUNCTION fairlead._cancel_jobs(queue text, tenant text, kind text, after_id bigint, jobs_max integer, OUT ended integer, OUT requested integer, OUT locked integer, OUT reached_id bigint, OUT taken_bytes bigint) TO fairlead_admin;

REVOKE ALL ON FUNCTION fairlead._epoch_us(at timestamp with time zone) FROM PUBLIC;
GRANT ALL ON FUNCTION fairlead._epoch_us(at timestamp with time zone) TO fairlead_worker;
GRANT ALL ON FUNCTION fairlead._epoch_us(at timestamp with time zone) TO fairlead_viewer;
GRANT ALL ON FUNCTION fairlead._epoch_us(at timestamp with time zone) TO fairlead_operator;
GRANT ALL ON FUNCTION fairlead._epoch_us(at timestamp with time zone) TO fairlead_scheduler;
GRANT ALL ON FUNCTION fairlead._epoch_us(at timestamp with time zone) TO fairlead_autoscaler;
GRANT ALL ON FUNCTION fairlead._epoch_us(at timestamp with time zone) TO fairlead_admin;

REVOKE ALL ON FUNCTION fairlead._charged_us(run_us bigint, claimed_at timestamp with time zone) FROM PUBLIC;

REVOKE ALL ON FUNCTION fairlead._check_array(name text, said anyarray, most integer, nulls boolean) FROM PUBLIC;

REVOKE ALL ON FUNCTION fairlead._check_checkpoint(value jsonb) FROM PUBLIC;

REVOKE ALL ON FUNCTION fairlead._check_kinds(kinds text[], most integer) FROM PUBLIC;

REVOKE ALL ON FUNCTION fairlead._check_leader(my_name text, lease_seconds double precision) FROM PUBLIC;

REVOKE ALL ON FUNCTION fairlead._check_priority(priority integer) FROM PUBLIC;

REVOKE ALL ON FUNCTION fairlead._check_results(results text[]) FROM PUBLIC;

REVOKE ALL ON FUNCTION fairlead._claimable(pool text, below_floor boolean) FROM PUBLIC;
GRANT ALL ON FUNCTION fairlead._claimable(pool text, below_floor boolean) TO fairlead_worker;

GRANT SELECT ON TABLE fairlead.batches TO fairlead_enqueue;
GRANT SELECT ON TABLE fairlead.batches TO fairlead_worker;
GRANT SELECT ON TABLE fairlead.batches TO fairlead_reader;
GRANT SELECT ON TABLE fairlead.batches TO fairlead_viewer;
GRANT SELECT ON TABLE fairlead.batches TO fairlead_operator;
GRANT SELECT ON TABLE fairlead.batches TO fairlead_admin;

GRANT SELECT(id) ON TABLE fairlead.batches TO fairlead_scheduler;

GRANT INSERT(open) ON TABLE fairlead.batches TO fairlead_enqueue;
GRANT INSERT(open) ON TABLE fairlead.batches TO fairlead_worker;
GRANT INSERT(open) ON TABLE fairlead.batches TO fairlead_admin;
GRANT SELECT(open) ON TABLE fairlead.batches TO fairlead_scheduler;

GRANT INSERT(tenant) ON TABLE fairlead.batches TO fairlead_enqueue;
GRANT INSERT(tenant) ON TABLE fairlead.batches TO fairlead_worker;
GRANT INSERT(tenant) ON TABLE fairlead.batches TO fairlead_admin;

GRANT INSERT(queue) ON TABLE fairlead.batches TO fairlead_enqueue;
GRANT INSERT(queue) ON TABLE fairlead.batches TO fairlead_worker;
GRANT INSERT(queue) ON TABLE fairlead.batches TO fairlead_admin;

GRANT INSERT(kind) ON TABLE fairlead.batches TO fairlead_enqueue;
GRANT INSERT(kind) ON TABLE fairlead.batches TO fairlead_worker;
GRANT INSERT(kind) ON TABLE fairlead.batches TO fairlead_admin;

GRANT INSERT(payload) ON TABLE fairlead.batches TO fairlead_enqueue;
GRANT INSERT(payload) ON TABLE fairlead.batches TO fairlead_worker;
GRANT INSERT(payload) ON TABLE fairlead.batches TO fairlead_admin;

GRANT INSERT(priority) ON TABLE fairlead.batches TO fairlead_enqueue;
GRANT INSERT(priority) ON TABLE fairlead.batches TO fairlead_worker;
GRANT INSERT(priority) ON TABLE fairlead.batches TO fairlead_admin;

GRANT INSERT(max_attempts) ON TABLE fairlead.batches TO fairlead_enqueue;
GRANT INSERT(max_attempts) ON TABLE fairlead.batches TO fairlead_worker;
GRANT INSERT(max_attempts) ON TABLE fairlead.batches TO fairlead_admin;

GRANT INSERT(timeout) ON TABLE fairlead.batches TO fairlead_enqueue;
GRANT INSERT(timeout) ON TABLE fairlead.batches TO fairlead_worker;
GRANT INSERT(timeout) ON TABLE fairlead.batches TO fairlead_admin;

GRANT INSERT(headers) ON TABLE fairlead.batches TO fairlead_enqueue;
GRANT INSERT(headers) ON TABLE fairlead.batches TO fairlead_worker;
GRANT INSERT(headers) ON TABLE fairlead.batches TO fairlead_admin;

GRANT SELECT(created_at) ON TABLE fairlead.batches TO fairlead_scheduler;

GRANT SELECT(completed_at) ON TABLE fairlead.batches TO fairlead_scheduler;

GRANT SELECT(problem) ON TABLE fairlead.batches TO fairlead_scheduler;

REVOKE ALL ON FUNCTION fairlead._count_batch(batch fairlead.batches, jobs_max integer, OUT counted integer, OUT over boolean) FROM PUBLIC;

REVOKE ALL ON FUNCTION fairlead._count_behind(of_batch bigint, jobs_max integer) FROM PUBLIC;

REVOKE ALL ON FUNCTION fairlead._count_crashes(ids bigint[], tokens bigint[]) FROM PUBLIC;
GRANT ALL ON FUNCTION fairlead._count_crashes(ids bigint[], tokens bigint[]) TO fairlead_worker;

REVOKE ALL ON FUNCTION fairlead._count_endings(ids bigint[], since timestamp with time zone, OUT succeeded bigint, OUT failed bigint, OUT cancelled bigint, OUT expired bigint, OUT unknown bigint) FROM PUBLIC;

REVOKE ALL ON FUNCTION fairlead._count_schedule_change() FROM PUBLIC;

REVOKE ALL ON FUNCTION fairlead._deadline(timeout interval) FROM PUBLIC;
GRANT ALL ON FUNCTION fairlead._deadline(timeout interval) TO fairlead_worker;
GRANT ALL ON FUNCTION fairlead._deadline(timeout interval) TO fairlead_viewer;
GRANT ALL ON FUNCTION fairlead._deadline(timeout interval) TO fairlead_operator;
GRANT ALL ON FUNCTION fairlead._deadline(timeout interval) TO fairlead_scheduler;
GRANT ALL ON FUNCTION fairlead._deadline(timeout interval) TO fairlead_autoscaler;
GRANT ALL ON FUNCTION fairlead._deadline(timeout interval) TO fairlead_admin;

REVOKE ALL ON FUNCTION fairlead._due_like(of_queue text, of_tenant text, rows_max integer, OUT ids bigint[], OUT complete boolean) FROM PUBLIC;

REVOKE ALL ON FUNCTION fairlead._end_attempts(ids bigint[], tokens bigint[], ended_as text[], errors text[], delays interval[], skip_locked boolean) FROM PUBLIC;

REVOKE ALL ON FUNCTION fairlead._end_expired(ids bigint[]) FROM PUBLIC;

REVOKE ALL ON FUNCTION fairlead._one_more(count integer) FROM PUBLIC;
GRANT ALL ON FUNCTION fairlead._one_more(count integer) TO fairlead_worker;
GRANT ALL ON FUNCTION fairlead._one_more(count integer) TO fairlead_viewer;
GRANT ALL ON FUNCTION fairlead._one_more(count integer) TO fairlead_operator;
GRANT ALL ON FUNCTION fairlead._one_more(count integer) TO fairlead_scheduler;
GRANT ALL ON FUNCTION fairlead._one_more(count integer) TO fairlead_autoscaler;
GRANT ALL ON FUNCTION fairlead._one_more(count integer) TO fairlead_admin;

GRANT SELECT ON TABLE fairlead.job_history TO fairlead_scheduler;
GRANT SELECT ON TABLE fairlead.job_history TO fairlead_viewer;
GRANT SELECT ON TABLE fairlead.job_history TO fairlead_operator;
GRANT SELECT ON TABLE fairlead.job_history TO fairlead_admin;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE fairlead.receipts TO fairlead_scheduler;
GRANT SELECT ON TABLE fairlead.receipts TO fairlead_viewer;
GRANT SELECT ON TABLE fairlead.receipts TO fairlead_operator;
GRANT SELECT ON TABLE fairlead.receipts TO fairlead_admin;

GRANT SELECT,INSERT,DELETE ON TABLE fairlead.work_queue TO fairlead_scheduler;
GRANT SELECT ON TABLE fairlead.work_queue TO fairlead_autoscaler;
GRANT SELECT ON TABLE fairlead.work_queue TO fairlead_viewer;
GRANT SELECT ON TABLE fairlead.work_queue TO fairlead_operator;
GRANT SELECT ON TABLE fairlead.work_queue TO fairlead_admin;

GRANT UPDATE(vtag) ON TABLE fairlead.work_queue TO fairlead_scheduler;

GRANT UPDATE(deadline) ON TABLE fairlead.work_queue TO fairlead_scheduler;

REVOKE ALL ON FUNCTION fairlead._end_jobs(ids bigint[], outcomes text[], errors text[], results jsonb[]) FROM PUBLIC;

REVOKE ALL ON FUNCTION fairlead._end_notifications() FROM PUBLIC;

REVOKE ALL ON FUNCTION fairlead._end_pauses(my_epoch bigint, rows_max integer) FROM PUBLIC;
GRANT ALL ON FUNCTION fairlead._end_pauses(my_epoch bigint, rows_max integer) TO fairlead_scheduler;

REVOKE ALL ON FUNCTION fairlead._end_unstarted(ids bigint[], outcome text, errors text[]) FROM PUBLIC;

REVOKE ALL ON FUNCTION fairlead._ended(ids bigint[], tokens bigint[]) FROM PUBLIC;
GRANT ALL ON FUNCTION fairlead._ended(ids bigint[], tokens bigint[]) TO fairlead_worker;

REVOKE ALL ON FUNCTION fairlead._erase_batches(tenant text, after_id bigint, batches_max integer, OUT batches integer, OUT reached_id bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION fairlead._erase_batches(tenant text, after_id bigint, batches_max integer, OUT batches integer, OUT reached_id bigint) TO fairlead_admin;

REVOKE ALL ON FUNCTION fairlead._erase_history(tenant text, after_id bigint, jobs_max integer, OUT erased integer, OUT reached_id bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION fairlead._erase_history(tenant text, after_id bigint, jobs_max integer, OUT erased integer, OUT reached_id bigint) TO fairlead_admin;

REVOKE ALL ON FUNCTION fairlead._erase_periods(tenant text) FROM PUBLIC;
GRANT ALL ON FUNCTION fairlead._erase_periods(tenant text) TO fairlead_admin;

REVOKE ALL ON FUNCTION fairlead._expire(my_epoch bigint, expired_from timestamp with time zone, jobs_max integer) FROM PUBLIC;
GRANT ALL ON FUNCTION fairlead._expire(my_epoch bigint, expired_from timestamp with time zone, jobs_max integer) TO fairlead_scheduler;

REVOKE ALL ON FUNCTION fairlead._expire_turns(my_epoch bigint, after_queue text, after_tenant text, lanes_max integer, lane_jobs_max integer, jobs_max integer, OUT ended integer, OUT lanes integer, OUT next_queue text, OUT next_tenant text) FROM PUBLIC;
GRANT ALL ON FUNCTION fairlead._expire_turns(my_epoch bigint, after_queue text, after_tenant text, lanes_max integer, lane_jobs_max integer, jobs_max integer, OUT ended integer, OUT lanes integer, OUT next_queue text, OUT next_tenant text) TO fairlead_scheduler;

REVOKE ALL ON FUNCTION fairlead._explain(job_id bigint) FROM PUBLIC;

REVOKE ALL ON FUNCTION fairlead._fire(my_epoch bigint, tenants text[], names text[], crons text[], timezones text[], considered_us bigint[], problems text[], fire_places bigint[], fires_us bigint[]) FROM PUBLIC;
GRANT ALL ON FUNCTION fairlead._fire(my_epoch bigint, tenants text[], names text[], crons text[], timezones text[], considered_us bigint[], problems text[], fire_places bigint[], fires_us bigint[]) TO fairlead_scheduler;

REVOKE ALL ON FUNCTION fairlead._first_id_after(instant timestamp with time zone, ended boolean) FROM PUBLIC;

REVOKE ALL ON FUNCTION fairlead._fitting(sizes bigint[]) FROM PUBLIC;

REVOKE ALL ON FUNCTION fairlead._follow_ups() FROM PUBLIC;
GRANT ALL ON FUNCTION fairlead._follow_ups() TO fairlead_worker;

REVOKE ALL ON FUNCTION fairlead._forget_audit(my_epoch bigint, days integer, rows_max integer) FROM PUBLIC;
GRANT ALL ON FUNCTION fairlead._forget_audit(my_epoch bigint, days integer, rows_max integer) TO fairlead_scheduler;

REVOKE ALL ON FUNCTION fairlead._forget_batch_jobs(of_batch bigint, jobs_max integer) FROM PUBLIC;

REVOKE ALL ON FUNCTION fairlead._forget_batches(my_epoch bigint, days integer, rows_max integer) FROM PUBLIC;
GRANT ALL ON FUNCTION fairlead._forget_batches(my_epoch bigint, days integer, rows_max integer) TO fairlead_scheduler;

REVOKE ALL ON FUNCTION fairlead._forget_drains(my_epoch bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION fairlead._forget_drains(my_epoch bigint) TO fairlead_scheduler;

REVOKE ALL ON FUNCTION fairlead._forget_periods(my_epoch bigint, rows_max integer) FROM PUBLIC;
GRANT ALL ON FUNCTION fairlead._forget_periods(my_epoch bigint, rows_max integer) TO fairlead_scheduler;

REVOKE ALL ON FUNCTION fairlead._forget_progress(ids bigint[], tokens bigint[]) FROM PUBLIC;
GRANT ALL ON FUNCTION fairlead._forget_progress(ids bigint[], tokens bigint[]) TO fairlead_worker;

REVOKE ALL ON FUNCTION fairlead._has_history_partition(class text, day date) FROM PUBLIC;

REVOKE ALL ON FUNCTION fairlead._has_huge_number(value jsonb, written text) FROM PUBLIC;

REVOKE ALL ON FUNCTION fairlead._has_room(queue text, tenant text, dedup_key text, retry_of bigint) FROM PUBLIC;

REVOKE ALL ON FUNCTION fairlead._history_partition(class text, day date) FROM PUBLIC;

REVOKE ALL ON FUNCTION fairlead._is_list(said anyarray) FROM PUBLIC;

GRANT SELECT,UPDATE ON SEQUENCE fairlead.backlog_gate TO fairlead_scheduler;
GRANT SELECT ON SEQUENCE fairlead.backlog_gate TO fairlead_viewer;
GRANT SELECT ON SEQUENCE fairlead.backlog_gate TO fairlead_operator;
GRANT SELECT ON SEQUENCE fairlead.backlog_gate TO fairlead_admin;

REVOKE ALL ON FUNCTION fairlead._is_ordinary(queue text, tenant text, kind text, priority smallint, max_attempts integer, payload jsonb, retry_of bigint, run_at timestamp with time zone, expires_at timestamp with time zone, timeout interval, cost_hint interval, dedup_key text, headers jsonb) FROM PUBLIC;

REVOKE ALL ON FUNCTION fairlead._is_too_deep(value jsonb, written text) FROM PUBLIC;

REVOKE ALL ON FUNCTION fairlead._join_batch() FROM PUBLIC;

REVOKE ALL ON FUNCTION fairlead._keep_deadlines(ids bigint[], tokens bigint[], lease_seconds double precision) FROM PUBLIC;
GRANT ALL ON FUNCTION fairlead._keep_deadlines(ids bigint[], tokens bigint[], lease_seconds double precision) TO fairlead_worker;

REVOKE ALL ON FUNCTION fairlead._scheduled_like(of_queue text, of_tenant text, rows_max integer, OUT ids bigint[], OUT complete boolean) FROM PUBLIC;

REVOKE ALL ON FUNCTION fairlead._lane_jobs(of_queue text, of_tenant text, among_due boolean, among_scheduled boolean, rows_max integer, OUT ids bigint[], OUT complete boolean) FROM PUBLIC;

REVOKE ALL ON FUNCTION fairlead._last_fire(tenant text, schedule text) FROM PUBLIC;
GRANT ALL ON FUNCTION fairlead._last_fire(tenant text, schedule text) TO fairlead_enqueue;
GRANT ALL ON FUNCTION fairlead._last_fire(tenant text, schedule text) TO fairlead_reader;
GRANT ALL ON FUNCTION fairlead._last_fire(tenant text, schedule text) TO fairlead_viewer;
GRANT ALL ON FUNCTION fairlead._last_fire(tenant text, schedule text) TO fairlead_operator;
GRANT ALL ON FUNCTION fairlead._last_fire(tenant text, schedule text) TO fairlead_scheduler;
GRANT ALL ON FUNCTION fairlead._last_fire(tenant text, schedule text) TO fairlead_admin;

REVOKE ALL ON FUNCTION fairlead._leader_fault(of_role text) FROM PUBLIC;
GRANT ALL ON FUNCTION fairlead._leader_fault(of_role text) TO fairlead_worker;
GRANT ALL ON FUNCTION fairlead._leader_fault(of_role text) TO fairlead_viewer;
GRANT ALL ON FUNCTION fairlead._leader_fault(of_role text) TO fairlead_operator;
GRANT ALL ON FUNCTION fairlead._leader_fault(of_role text) TO fairlead_scheduler;
GRANT ALL ON FUNCTION fairlead._leader_fault(of_role text) TO fairlead_autoscaler;
GRANT ALL ON FUNCTION fairlead._leader_fault(of_role text) TO fairlead_admin;

REVOKE ALL ON FUNCTION fairlead._leads(my_epoch bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION fairlead._leads(my_epoch bigint) TO fairlead_scheduler;

REVOKE ALL ON FUNCTION fairlead._leased(workers bigint[], claimed_until timestamp with time zone) FROM PUBLIC;
GRANT ALL ON FUNCTION fairlead._leased(workers bigint[], claimed_until timestamp with time zone) TO fairlead_worker;

REVOKE ALL ON FUNCTION fairlead._list_jobs(of_queue text, of_tenant text, of_kind text, in_state text, jobs_max integer, since timestamp with time zone, until timestamp with time zone, before_id bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION fairlead._list_jobs(of_queue text, of_tenant text, of_kind text, in_state text, jobs_max integer, since timestamp with time zone, until timestamp with time zone, before_id bigint) TO fairlead_enqueue;
GRANT ALL ON FUNCTION fairlead._list_jobs(of_queue text, of_tenant text, of_kind text, in_state text, jobs_max integer, since timestamp with time zone, until timestamp with time zone, before_id bigint) TO fairlead_reader;
GRANT ALL ON FUNCTION fairlead._list_jobs(of_queue text, of_tenant text, of_kind text, in_state text, jobs_max integer, since timestamp with time zone, until timestamp with time zone, before_id bigint) TO fairlead_viewer;
GRANT ALL ON FUNCTION fairlead._list_jobs(of_queue text, of_tenant text, of_kind text, in_state text, jobs_max integer, since timestamp with time zone, until timestamp with time zone, before_id bigint) TO fairlead_scheduler;
GRANT ALL ON FUNCTION fairlead._list_jobs(of_queue text, of_tenant text, of_kind text, in_state text, jobs_max integer, since timestamp with time zone, until timestamp with time zone, before_id bigint) TO fairlead_operator;
GRANT ALL ON FUNCTION fairlead._list_jobs(of_queue text, of_tenant text, of_kind text, in_state text, jobs_max integer, since timestamp with time zone, until timestamp with time zone, before_id bigint) TO fairlead_admin;

REVOKE ALL ON FUNCTION fairlead._lock_free(ids bigint[], tokens bigint[]) FROM PUBLIC;
GRANT ALL ON FUNCTION fairlead._lock_free(ids bigint[], tokens bigint[]) TO fairlead_worker;

REVOKE ALL ON FUNCTION fairlead._make_history_partitions(class text, days date[]) FROM PUBLIC;

REVOKE ALL ON FUNCTION fairlead._make_history_table(class text, day date) FROM PUBLIC;

REVOKE ALL ON FUNCTION fairlead._mark_anew() FROM PUBLIC;

REVOKE ALL ON FUNCTION fairlead._may_enqueue(queue text, tenant text) FROM PUBLIC;

REVOKE ALL ON FUNCTION fairlead._may_serve(pool text) FROM PUBLIC;

REVOKE ALL ON FUNCTION fairlead._missing_history_partitions(class text, days_ahead integer) FROM PUBLIC;

REVOKE ALL ON FUNCTION fairlead._move_jobs(ids bigint[], priority integer) FROM PUBLIC;

REVOKE ALL ON FUNCTION fairlead._move_late_endings(class text, day date) FROM PUBLIC;

REVOKE ALL ON FUNCTION fairlead._newest_batches(of_tenant text, in_state text, batches_max integer, before_id bigint, OUT ids bigint[], OUT go_on_before bigint) FROM PUBLIC;

REVOKE ALL ON FUNCTION fairlead._timeline() FROM PUBLIC;

REVOKE ALL ON FUNCTION fairlead._next_epoch(epoch bigint, timeline integer) FROM PUBLIC;

REVOKE ALL ON FUNCTION fairlead._notify(channel text, payload text) FROM PUBLIC;
GRANT ALL ON FUNCTION fairlead._notify(channel text, payload text) TO fairlead_scheduler;
GRANT ALL ON FUNCTION fairlead._notify(channel text, payload text) TO fairlead_autoscaler;

REVOKE ALL ON FUNCTION fairlead._notify_scheduler(reason text) FROM PUBLIC;

REVOKE ALL ON FUNCTION fairlead._origins(ids bigint[], tokens bigint[]) FROM PUBLIC;
GRANT ALL ON FUNCTION fairlead._origins(ids bigint[], tokens bigint[]) TO fairlead_worker;

REVOKE ALL ON FUNCTION fairlead._own(ids bigint[], tokens bigint[]) FROM PUBLIC;

REVOKE ALL ON FUNCTION fairlead._own_database(release text) FROM PUBLIC;
GRANT ALL ON FUNCTION fairlead._own_database(release text) TO fairlead_scheduler;
GRANT ALL ON FUNCTION fairlead._own_database(release text) TO fairlead_admin;

REVOKE ALL ON FUNCTION fairlead._own_pool(pool text, release text) FROM PUBLIC;
GRANT ALL ON FUNCTION fairlead._own_pool(pool text, release text) TO fairlead_worker;
GRANT ALL ON FUNCTION fairlead._own_pool(pool text, release text) TO fairlead_admin;

REVOKE ALL ON FUNCTION fairlead._owns_all() FROM PUBLIC;

GRANT SELECT ON TABLE fairlead.install_options TO fairlead_autoscaler;
GRANT SELECT ON TABLE fairlead.install_options TO fairlead_viewer;
GRANT SELECT ON TABLE fairlead.install_options TO fairlead_operator;
GRANT SELECT ON TABLE fairlead.install_options TO fairlead_admin;

GRANT UPDATE(policy_source) ON TABLE fairlead.install_options TO fairlead_autoscaler;

GRANT UPDATE(policy_place) ON TABLE fairlead.install_options TO fairlead_autoscaler;

GRANT SELECT ON TABLE fairlead.tenant_logins TO fairlead_viewer;
GRANT SELECT ON TABLE fairlead.tenant_logins TO fairlead_operator;
GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE fairlead.tenant_logins TO fairlead_admin;

REVOKE ALL ON FUNCTION fairlead._owns(of_tenant text, of_login text) FROM PUBLIC;
GRANT ALL ON FUNCTION fairlead._owns(of_tenant text, of_login text) TO fairlead_enqueue;
GRANT ALL ON FUNCTION fairlead._owns(of_tenant text, of_login text) TO fairlead_reader;
GRANT ALL ON FUNCTION fairlead._owns(of_tenant text, of_login text) TO fairlead_viewer;
GRANT ALL ON FUNCTION fairlead._owns(of_tenant text, of_login text) TO fairlead_worker;
GRANT ALL ON FUNCTION fairlead._owns(of_tenant text, of_login text) TO fairlead_operator;
GRANT ALL ON FUNCTION fairlead._owns(of_tenant text, of_login text) TO fairlead_scheduler;
GRANT ALL ON FUNCTION fairlead._owns(of_tenant text, of_login text) TO fairlead_autoscaler;
GRANT ALL ON FUNCTION fairlead._owns(of_tenant text, of_login text) TO fairlead_admin;

REVOKE ALL ON FUNCTION fairlead._owns_batch(of_tenant text, of_login text) FROM PUBLIC;
GRANT ALL ON FUNCTION fairlead._owns_batch(of_tenant text, of_login text) TO fairlead_enqueue;
GRANT ALL ON FUNCTION fairlead._owns_batch(of_tenant text, of_login text) TO fairlead_reader;
GRANT ALL ON FUNCTION fairlead._owns_batch(of_tenant text, of_login text) TO fairlead_viewer;
GRANT ALL ON FUNCTION fairlead._owns_batch(of_tenant text, of_login text) TO fairlead_worker;
GRANT ALL ON FUNCTION fairlead._owns_batch(of_tenant text, of_login text) TO fairlead_operator;
GRANT ALL ON FUNCTION fairlead._owns_batch(of_tenant text, of_login text) TO fairlead_scheduler;
GRANT ALL ON FUNCTION fairlead._owns_batch(of_tenant text, of_login text) TO fairlead_autoscaler;
GRANT ALL ON FUNCTION fairlead._owns_batch(of_tenant text, of_login text) TO fairlead_admin;

REVOKE ALL ON FUNCTION fairlead._pass_over(worker bigint, full_kinds text[], jobs_max integer) FROM PUBLIC;
GRANT ALL ON FUNCTION fairlead._pass_over(worker bigint, full_kinds text[], jobs_max integer) TO fairlead_worker;

REVOKE ALL ON FUNCTION fairlead._policy_versions_stay() FROM PUBLIC;

REVOKE ALL ON FUNCTION fairlead._predecessors(name text, pod_uid text) FROM PUBLIC;
GRANT ALL ON FUNCTION fairlead._predecessors(name text, pod_uid text) TO fairlead_worker;

REVOKE ALL ON FUNCTION fairlead._raise_stale(job_id bigint, token bigint) FROM PUBLIC;

REVOKE ALL ON FUNCTION fairlead._read_bytes(said text) FROM PUBLIC;

REVOKE ALL ON FUNCTION fairlead._read_claimed(jobs bigint[]) FROM PUBLIC;

REVOKE ALL ON FUNCTION fairlead._read_mark(pod_uid text, OUT holds boolean, OUT drained boolean) FROM PUBLIC;

REVOKE ALL ON FUNCTION fairlead._readable_breakers(said jsonb) FROM PUBLIC;

REVOKE ALL ON FUNCTION fairlead._reads_all() FROM PUBLIC;
GRANT ALL ON FUNCTION fairlead._reads_all() TO fairlead_enqueue;
GRANT ALL ON FUNCTION fairlead._reads_all() TO fairlead_reader;
GRANT ALL ON FUNCTION fairlead._reads_all() TO fairlead_viewer;
GRANT ALL ON FUNCTION fairlead._reads_all() TO fairlead_worker;
GRANT ALL ON FUNCTION fairlead._reads_all() TO fairlead_operator;
GRANT ALL ON FUNCTION fairlead._reads_all() TO fairlead_scheduler;
GRANT ALL ON FUNCTION fairlead._reads_all() TO fairlead_autoscaler;
GRANT ALL ON FUNCTION fairlead._reads_all() TO fairlead_admin;

REVOKE ALL ON FUNCTION fairlead._recall(my_epoch bigint, ids bigint[]) FROM PUBLIC;
GRANT ALL ON FUNCTION fairlead._recall(my_epoch bigint, ids bigint[]) TO fairlead_scheduler;

REVOKE ALL ON FUNCTION fairlead._record_audit(verb text, job_id bigint, queue text, tenant text, schedule text, version bigint, details jsonb, reason text, actor text) FROM PUBLIC;

REVOKE ALL ON FUNCTION fairlead._record_for_another(verb text, job_id bigint, login name) FROM PUBLIC;

REVOKE ALL ON FUNCTION fairlead._record_schedules(verb text, tenants text[], names text[], queues text[], details jsonb) FROM PUBLIC;

REVOKE ALL ON FUNCTION fairlead._redrive(queue text, tenant text, kind text, after_at timestamp with time zone, after_id bigint, jobs_max integer, OUT made integer, OUT reached_at timestamp with time zone, OUT reached_id bigint, OUT made_bytes bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION fairlead._redrive(queue text, tenant text, kind text, after_at timestamp with time zone, after_id bigint, jobs_max integer, OUT made integer, OUT reached_at timestamp with time zone, OUT reached_id bigint, OUT made_bytes bigint) TO fairlead_operator;
GRANT ALL ON FUNCTION fairlead._redrive(queue text, tenant text, kind text, after_at timestamp with time zone, after_id bigint, jobs_max integer, OUT made integer, OUT reached_at timestamp with time zone, OUT reached_id bigint, OUT made_bytes bigint) TO fairlead_admin;

REVOKE ALL ON FUNCTION fairlead._refuse_truncation() FROM PUBLIC;

REVOKE ALL ON FUNCTION fairlead._release(ids bigint[], tokens bigint[], run_us bigint[]) FROM PUBLIC;

REVOKE ALL ON FUNCTION fairlead._release_jobs(worker bigint, after_id bigint, jobs_max integer) FROM PUBLIC;
GRANT ALL ON FUNCTION fairlead._release_jobs(worker bigint, after_id bigint, jobs_max integer) TO fairlead_operator;
GRANT ALL ON FUNCTION fairlead._release_jobs(worker bigint, after_id bigint, jobs_max integer) TO fairlead_admin;

REVOKE ALL ON FUNCTION fairlead._release_leadership(my_epoch bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION fairlead._release_leadership(my_epoch bigint) TO fairlead_scheduler;

REVOKE ALL ON FUNCTION fairlead._release_worker(worker bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION fairlead._release_worker(worker bigint) TO fairlead_operator;
GRANT ALL ON FUNCTION fairlead._release_worker(worker bigint) TO fairlead_admin;

REVOKE ALL ON FUNCTION fairlead._renew_leadership(my_epoch bigint, lease_seconds double precision) FROM PUBLIC;
GRANT ALL ON FUNCTION fairlead._renew_leadership(my_epoch bigint, lease_seconds double precision) TO fairlead_scheduler;

REVOKE ALL ON FUNCTION fairlead._replace(wanted fairlead.jobs, debounce interval, debounce_max interval, OUT id bigint, OUT became text) FROM PUBLIC;

REVOKE ALL ON FUNCTION fairlead._require_read_committed() FROM PUBLIC;

REVOKE ALL ON FUNCTION fairlead._runs_in_batch(of_batch bigint) FROM PUBLIC;

REVOKE ALL ON FUNCTION fairlead._scan_from(us bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION fairlead._scan_from(us bigint) TO fairlead_scheduler;

REVOKE ALL ON FUNCTION fairlead._sees_all() FROM PUBLIC;
GRANT ALL ON FUNCTION fairlead._sees_all() TO fairlead_enqueue;
GRANT ALL ON FUNCTION fairlead._sees_all() TO fairlead_reader;
GRANT ALL ON FUNCTION fairlead._sees_all() TO fairlead_viewer;
GRANT ALL ON FUNCTION fairlead._sees_all() TO fairlead_worker;
GRANT ALL ON FUNCTION fairlead._sees_all() TO fairlead_operator;
GRANT ALL ON FUNCTION fairlead._sees_all() TO fairlead_scheduler;
GRANT ALL ON FUNCTION fairlead._sees_all() TO fairlead_autoscaler;
GRANT ALL ON FUNCTION fairlead._sees_all() TO fairlead_admin;

REVOKE ALL ON FUNCTION fairlead._sees(of_tenant text) FROM PUBLIC;
GRANT ALL ON FUNCTION fairlead._sees(of_tenant text) TO fairlead_enqueue;
GRANT ALL ON FUNCTION fairlead._sees(of_tenant text) TO fairlead_reader;
GRANT ALL ON FUNCTION fairlead._sees(of_tenant text) TO fairlead_viewer;
GRANT ALL ON FUNCTION fairlead._sees(of_tenant text) TO fairlead_worker;
GRANT ALL ON FUNCTION fairlead._sees(of_tenant text) TO fairlead_operator;
GRANT ALL ON FUNCTION fairlead._sees(of_tenant text) TO fairlead_scheduler;
GRANT ALL ON FUNCTION fairlead._sees(of_tenant text) TO fairlead_autoscaler;
GRANT ALL ON FUNCTION fairlead._sees(of_tenant text) TO fairlead_admin;

REVOKE ALL ON FUNCTION fairlead._set_priorities(priority integer, queue text, tenant text, kind text, after_id bigint, jobs_max integer, OUT changed integer, OUT running integer, OUT locked integer, OUT reached_id bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION fairlead._set_priorities(priority integer, queue text, tenant text, kind text, after_id bigint, jobs_max integer, OUT changed integer, OUT running integer, OUT locked integer, OUT reached_id bigint) TO fairlead_operator;
GRANT ALL ON FUNCTION fairlead._set_priorities(priority integer, queue text, tenant text, kind text, after_id bigint, jobs_max integer, OUT changed integer, OUT running integer, OUT locked integer, OUT reached_id bigint) TO fairlead_admin;

REVOKE ALL ON FUNCTION fairlead._settle_batches(my_epoch bigint, after_id bigint, batches_max integer, jobs_max integer, open_days integer, OUT completed integer, OUT refused integer, OUT more boolean, OUT reached_id bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION fairlead._settle_batches(my_epoch bigint, after_id bigint, batches_max integer, jobs_max integer, open_days integer, OUT completed integer, OUT refused integer, OUT more boolean, OUT reached_id bigint) TO fairlead_scheduler;

REVOKE ALL ON FUNCTION fairlead._sources(ids bigint[], tokens bigint[]) FROM PUBLIC;
GRANT ALL ON FUNCTION fairlead._sources(ids bigint[], tokens bigint[]) TO fairlead_worker;

REVOKE ALL ON FUNCTION fairlead._span_us(span interval) FROM PUBLIC;
GRANT ALL ON FUNCTION fairlead._span_us(span interval) TO fairlead_worker;
GRANT ALL ON FUNCTION fairlead._span_us(span interval) TO fairlead_viewer;
GRANT ALL ON FUNCTION fairlead._span_us(span interval) TO fairlead_operator;
GRANT ALL ON FUNCTION fairlead._span_us(span interval) TO fairlead_scheduler;
GRANT ALL ON FUNCTION fairlead._span_us(span interval) TO fairlead_autoscaler;
GRANT ALL ON FUNCTION fairlead._span_us(span interval) TO fairlead_admin;

REVOKE ALL ON FUNCTION fairlead._steal(my_epoch bigint, ids bigint[], tokens bigint[], errors text[]) FROM PUBLIC;
GRANT ALL ON FUNCTION fairlead._steal(my_epoch bigint, ids bigint[], tokens bigint[], errors text[]) TO fairlead_scheduler;

REVOKE ALL ON FUNCTION fairlead._stored_bytes(payload jsonb, headers jsonb, error text) FROM PUBLIC;

REVOKE ALL ON FUNCTION fairlead._take_over(release text) FROM PUBLIC;
GRANT ALL ON FUNCTION fairlead._take_over(release text) TO fairlead_admin;

REVOKE ALL ON FUNCTION fairlead._take_schedule() FROM PUBLIC;

REVOKE ALL ON FUNCTION fairlead._tell_waiting(ids bigint[]) FROM PUBLIC;

REVOKE ALL ON FUNCTION fairlead._timeline_base() FROM PUBLIC;

REVOKE ALL ON FUNCTION fairlead._try_lock(part text) FROM PUBLIC;

REVOKE ALL ON FUNCTION fairlead._unfinished() FROM PUBLIC;
GRANT ALL ON FUNCTION fairlead._unfinished() TO fairlead_worker;

REVOKE ALL ON FUNCTION fairlead._unique_fault(dedup_key text, run_at timestamp with time zone, replaces boolean, debounce interval, debounce_max interval, unique_for interval) FROM PUBLIC;

REVOKE ALL ON FUNCTION fairlead._unmark_drains(my_epoch bigint, pods text[]) FROM PUBLIC;
GRANT ALL ON FUNCTION fairlead._unmark_drains(my_epoch bigint, pods text[]) TO fairlead_autoscaler;

REVOKE ALL ON FUNCTION fairlead._wake_scheduler() FROM PUBLIC;

REVOKE ALL ON FUNCTION fairlead._wake_scheduler_at_ending() FROM PUBLIC;

REVOKE ALL ON FUNCTION fairlead.announce_kinds(worker bigint, kinds text[], max_attempts integer[], at_most_once boolean[]) FROM PUBLIC;
GRANT ALL ON FUNCTION fairlead.announce_kinds(worker bigint, kinds text[], max_attempts integer[], at_most_once boolean[]) TO fairlead_worker;

REVOKE ALL ON FUNCTION fairlead.apply_policy(document text, digest text, author text, reason text) FROM PUBLIC;
GRANT ALL ON FUNCTION fairlead.apply_policy(document text, digest text, author text, reason text) TO fairlead_autoscaler;
GRANT ALL ON FUNCTION fairlead.apply_policy(document text, digest text, author text, reason text) TO fairlead_admin;

REVOKE ALL ON FUNCTION fairlead.awaits_limits(worker bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION fairlead.awaits_limits(worker bigint) TO fairlead_worker;

REVOKE ALL ON FUNCTION fairlead.cancel(job_id bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION fairlead.cancel(job_id bigint) TO fairlead_enqueue;
GRANT ALL ON FUNCTION fairlead.cancel(job_id bigint) TO fairlead_operator;
GRANT ALL ON FUNCTION fairlead.cancel(job_id bigint) TO fairlead_admin;

REVOKE ALL ON FUNCTION fairlead.cancel_jobs(queue text, tenant text, kind text, jobs_max integer, OUT cancelled bigint, OUT locked bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION fairlead.cancel_jobs(queue text, tenant text, kind text, jobs_max integer, OUT cancelled bigint, OUT locked bigint) TO fairlead_enqueue;
GRANT ALL ON FUNCTION fairlead.cancel_jobs(queue text, tenant text, kind text, jobs_max integer, OUT cancelled bigint, OUT locked bigint) TO fairlead_operator;
GRANT ALL ON FUNCTION fairlead.cancel_jobs(queue text, tenant text, kind text, jobs_max integer, OUT cancelled bigint, OUT locked bigint) TO fairlead_admin;

REVOKE ALL ON FUNCTION fairlead.checkpoint(job_id bigint, token bigint, value jsonb) FROM PUBLIC;
GRANT ALL ON FUNCTION fairlead.checkpoint(job_id bigint, token bigint, value jsonb) TO fairlead_worker;
GRANT ALL ON FUNCTION fairlead.checkpoint(job_id bigint, token bigint, value jsonb) TO fairlead_admin;

REVOKE ALL ON FUNCTION fairlead.claim(worker bigint, jobs_max integer, below_floor boolean, full_kinds text[]) FROM PUBLIC;
GRANT ALL ON FUNCTION fairlead.claim(worker bigint, jobs_max integer, below_floor boolean, full_kinds text[]) TO fairlead_worker;

REVOKE ALL ON FUNCTION fairlead.close_batch(batch bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION fairlead.close_batch(batch bigint) TO fairlead_enqueue;
GRANT ALL ON FUNCTION fairlead.close_batch(batch bigint) TO fairlead_worker;
GRANT ALL ON FUNCTION fairlead.close_batch(batch bigint) TO fairlead_operator;
GRANT ALL ON FUNCTION fairlead.close_batch(batch bigint) TO fairlead_admin;

REVOKE ALL ON FUNCTION fairlead.complete(job_id bigint, token bigint, result jsonb) FROM PUBLIC;
GRANT ALL ON FUNCTION fairlead.complete(job_id bigint, token bigint, result jsonb) TO fairlead_worker;
GRANT ALL ON FUNCTION fairlead.complete(job_id bigint, token bigint, result jsonb) TO fairlead_admin;

REVOKE ALL ON FUNCTION fairlead.deregister_workers(workers bigint[]) FROM PUBLIC;
GRANT ALL ON FUNCTION fairlead.deregister_workers(workers bigint[]) TO fairlead_worker;

REVOKE ALL ON FUNCTION fairlead.drop_history_partitions(succeeded_days integer, unsuccessful_days integer) FROM PUBLIC;
GRANT ALL ON FUNCTION fairlead.drop_history_partitions(succeeded_days integer, unsuccessful_days integer) TO fairlead_scheduler;

REVOKE ALL ON FUNCTION fairlead.enqueue(kind text, payload jsonb, queue text, tenant text, priority integer, run_at timestamp with time zone, expires_at timestamp with time zone, dedup_key text, max_attempts integer, timeout interval, cost_hint interval, headers jsonb, batch bigint, replace boolean, debounce interval, debounce_max interval, unique_for interval, OUT id bigint, OUT became text) FROM PUBLIC;
GRANT ALL ON FUNCTION fairlead.enqueue(kind text, payload jsonb, queue text, tenant text, priority integer, run_at timestamp with time zone, expires_at timestamp with time zone, dedup_key text, max_attempts integer, timeout interval, cost_hint interval, headers jsonb, batch bigint, replace boolean, debounce interval, debounce_max interval, unique_for interval, OUT id bigint, OUT became text) TO fairlead_enqueue;
GRANT ALL ON FUNCTION fairlead.enqueue(kind text, payload jsonb, queue text, tenant text, priority integer, run_at timestamp with time zone, expires_at timestamp with time zone, dedup_key text, max_attempts integer, timeout interval, cost_hint interval, headers jsonb, batch bigint, replace boolean, debounce interval, debounce_max interval, unique_for interval, OUT id bigint, OUT became text) TO fairlead_worker;
GRANT ALL ON FUNCTION fairlead.enqueue(kind text, payload jsonb, queue text, tenant text, priority integer, run_at timestamp with time zone, expires_at timestamp with time zone, dedup_key text, max_attempts integer, timeout interval, cost_hint interval, headers jsonb, batch bigint, replace boolean, debounce interval, debounce_max interval, unique_for interval, OUT id bigint, OUT became text) TO fairlead_admin;

REVOKE ALL ON FUNCTION fairlead.explain(job_id bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION fairlead.explain(job_id bigint) TO fairlead_enqueue;
GRANT ALL ON FUNCTION fairlead.explain(job_id bigint) TO fairlead_reader;
GRANT ALL ON FUNCTION fairlead.explain(job_id bigint) TO fairlead_viewer;
GRANT ALL ON FUNCTION fairlead.explain(job_id bigint) TO fairlead_operator;
GRANT ALL ON FUNCTION fairlead.explain(job_id bigint) TO fairlead_admin;

REVOKE ALL ON FUNCTION fairlead.extend(job_id bigint, token bigint, by interval) FROM PUBLIC;
GRANT ALL ON FUNCTION fairlead.extend(job_id bigint, token bigint, by interval) TO fairlead_worker;
GRANT ALL ON FUNCTION fairlead.extend(job_id bigint, token bigint, by interval) TO fairlead_admin;

REVOKE ALL ON FUNCTION fairlead.extend_deadlines(ids bigint[], tokens bigint[], seconds double precision[]) FROM PUBLIC;
GRANT ALL ON FUNCTION fairlead.extend_deadlines(ids bigint[], tokens bigint[], seconds double precision[]) TO fairlead_worker;

REVOKE ALL ON FUNCTION fairlead.fail(job_id bigint, token bigint, error text, retry_in interval) FROM PUBLIC;
GRANT ALL ON FUNCTION fairlead.fail(job_id bigint, token bigint, error text, retry_in interval) TO fairlead_worker;
GRANT ALL ON FUNCTION fairlead.fail(job_id bigint, token bigint, error text, retry_in interval) TO fairlead_admin;

REVOKE ALL ON FUNCTION fairlead.finish(ids bigint[], tokens bigint[], outcomes text[], results text[], errors text[], run_us bigint[]) FROM PUBLIC;
GRANT ALL ON FUNCTION fairlead.finish(ids bigint[], tokens bigint[], outcomes text[], results text[], errors text[], run_us bigint[]) TO fairlead_worker;

REVOKE ALL ON FUNCTION fairlead.hand_back(ids bigint[], tokens bigint[], ended_as text[], errors text[], delays interval[]) FROM PUBLIC;
GRANT ALL ON FUNCTION fairlead.hand_back(ids bigint[], tokens bigint[], ended_as text[], errors text[], delays interval[]) TO fairlead_worker;

REVOKE ALL ON FUNCTION fairlead.limit_kinds(worker bigint, kinds text[], at_most integer[]) FROM PUBLIC;
GRANT ALL ON FUNCTION fairlead.limit_kinds(worker bigint, kinds text[], at_most integer[]) TO fairlead_worker;

REVOKE ALL ON FUNCTION fairlead.list_batches(of_tenant text, in_state text, batches_max integer, before_id bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION fairlead.list_batches(of_tenant text, in_state text, batches_max integer, before_id bigint) TO fairlead_enqueue;
GRANT ALL ON FUNCTION fairlead.list_batches(of_tenant text, in_state text, batches_max integer, before_id bigint) TO fairlead_worker;
GRANT ALL ON FUNCTION fairlead.list_batches(of_tenant text, in_state text, batches_max integer, before_id bigint) TO fairlead_reader;
GRANT ALL ON FUNCTION fairlead.list_batches(of_tenant text, in_state text, batches_max integer, before_id bigint) TO fairlead_viewer;
GRANT ALL ON FUNCTION fairlead.list_batches(of_tenant text, in_state text, batches_max integer, before_id bigint) TO fairlead_scheduler;
GRANT ALL ON FUNCTION fairlead.list_batches(of_tenant text, in_state text, batches_max integer, before_id bigint) TO fairlead_operator;
GRANT ALL ON FUNCTION fairlead.list_batches(of_tenant text, in_state text, batches_max integer, before_id bigint) TO fairlead_admin;

REVOKE ALL ON FUNCTION fairlead.list_jobs(of_queue text, of_tenant text, of_kind text, in_state text, jobs_max integer, since timestamp with time zone, until timestamp with time zone, before_id bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION fairlead.list_jobs(of_queue text, of_tenant text, of_kind text, in_state text, jobs_max integer, since timestamp with time zone, until timestamp with time zone, before_id bigint) TO fairlead_enqueue;
GRANT ALL ON FUNCTION fairlead.list_jobs(of_queue text, of_tenant text, of_kind text, in_state text, jobs_max integer, since timestamp with time zone, until timestamp with time zone, before_id bigint) TO fairlead_reader;
GRANT ALL ON FUNCTION fairlead.list_jobs(of_queue text, of_tenant text, of_kind text, in_state text, jobs_max integer, since timestamp with time zone, until timestamp with time zone, before_id bigint) TO fairlead_viewer;
GRANT ALL ON FUNCTION fairlead.list_jobs(of_queue text, of_tenant text, of_kind text, in_state text, jobs_max integer, since timestamp with time zone, until timestamp with time zone, before_id bigint) TO fairlead_scheduler;
GRANT ALL ON FUNCTION fairlead.list_jobs(of_queue text, of_tenant text, of_kind text, in_state text, jobs_max integer, since timestamp with time zone, until timestamp with time zone, before_id bigint) TO fairlead_operator;
GRANT ALL ON FUNCTION fairlead.list_jobs(of_queue text, of_tenant text, of_kind text, in_state text, jobs_max integer, since timestamp with time zone, until timestamp with time zone, before_id bigint) TO fairlead_admin;

REVOKE ALL ON FUNCTION fairlead.make_history_partitions(days_ahead integer) FROM PUBLIC;
GRANT ALL ON FUNCTION fairlead.make_history_partitions(days_ahead integer) TO fairlead_scheduler;
GRANT ALL ON FUNCTION fairlead.make_history_partitions(days_ahead integer) TO fairlead_admin;

REVOKE ALL ON FUNCTION fairlead.note_refused_policy(hash text, said text, author text) FROM PUBLIC;
GRANT ALL ON FUNCTION fairlead.note_refused_policy(hash text, said text, author text) TO fairlead_autoscaler;
GRANT ALL ON FUNCTION fairlead.note_refused_policy(hash text, said text, author text) TO fairlead_admin;

REVOKE ALL ON FUNCTION fairlead.pause(queue text, tenant text, until timestamp with time zone) FROM PUBLIC;
GRANT ALL ON FUNCTION fairlead.pause(queue text, tenant text, until timestamp with time zone) TO fairlead_operator;
GRANT ALL ON FUNCTION fairlead.pause(queue text, tenant text, until timestamp with time zone) TO fairlead_admin;

REVOKE ALL ON FUNCTION fairlead.redact(job_id bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION fairlead.redact(job_id bigint) TO fairlead_admin;

REVOKE ALL ON FUNCTION fairlead.redrive(queue text, tenant text, kind text, since timestamp with time zone, jobs_max integer) FROM PUBLIC;
GRANT ALL ON FUNCTION fairlead.redrive(queue text, tenant text, kind text, since timestamp with time zone, jobs_max integer) TO fairlead_operator;
GRANT ALL ON FUNCTION fairlead.redrive(queue text, tenant text, kind text, since timestamp with time zone, jobs_max integer) TO fairlead_admin;

REVOKE ALL ON FUNCTION fairlead.register_worker(name text, pool text, slots integer, lease_seconds double precision, slots_full integer, host text, pod_uid text, pod_name text, version text, releases_slots boolean) FROM PUBLIC;
GRANT ALL ON FUNCTION fairlead.register_worker(name text, pool text, slots integer, lease_seconds double precision, slots_full integer, host text, pod_uid text, pod_name text, version text, releases_slots boolean) TO fairlead_worker;

REVOKE ALL ON FUNCTION fairlead.release(ids bigint[], tokens bigint[], run_us bigint[]) FROM PUBLIC;
GRANT ALL ON FUNCTION fairlead.release(ids bigint[], tokens bigint[], run_us bigint[]) TO fairlead_worker;

REVOKE ALL ON FUNCTION fairlead.remove_schedules(tenant text, name text) FROM PUBLIC;
GRANT ALL ON FUNCTION fairlead.remove_schedules(tenant text, name text) TO fairlead_enqueue;
GRANT ALL ON FUNCTION fairlead.remove_schedules(tenant text, name text) TO fairlead_admin;

REVOKE ALL ON FUNCTION fairlead.renew_worker(worker bigint, lease_seconds double precision, slots integer, ids bigint[], tokens bigint[], beside integer, crash_breakers jsonb, evictable_kinds text[]) FROM PUBLIC;
GRANT ALL ON FUNCTION fairlead.renew_worker(worker bigint, lease_seconds double precision, slots integer, ids bigint[], tokens bigint[], beside integer, crash_breakers jsonb, evictable_kinds text[]) TO fairlead_worker;

REVOKE ALL ON FUNCTION fairlead.reset_leadership() FROM PUBLIC;
GRANT ALL ON FUNCTION fairlead.reset_leadership() TO fairlead_operator;
GRANT ALL ON FUNCTION fairlead.reset_leadership() TO fairlead_admin;

REVOKE ALL ON FUNCTION fairlead.resume(queue text, tenant text) FROM PUBLIC;
GRANT ALL ON FUNCTION fairlead.resume(queue text, tenant text) TO fairlead_operator;
GRANT ALL ON FUNCTION fairlead.resume(queue text, tenant text) TO fairlead_admin;

REVOKE ALL ON FUNCTION fairlead.retry(job_id bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION fairlead.retry(job_id bigint) TO fairlead_enqueue;
GRANT ALL ON FUNCTION fairlead.retry(job_id bigint) TO fairlead_operator;
GRANT ALL ON FUNCTION fairlead.retry(job_id bigint) TO fairlead_admin;

REVOKE ALL ON FUNCTION fairlead.run_schedule(tenant text, name text) FROM PUBLIC;
GRANT ALL ON FUNCTION fairlead.run_schedule(tenant text, name text) TO fairlead_operator;
GRANT ALL ON FUNCTION fairlead.run_schedule(tenant text, name text) TO fairlead_admin;

REVOKE ALL ON FUNCTION fairlead.say_drained(worker bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION fairlead.say_drained(worker bigint) TO fairlead_worker;

REVOKE ALL ON FUNCTION fairlead.set_priorities(priority integer, queue text, tenant text, kind text, jobs_max integer, OUT changed bigint, OUT running bigint, OUT locked bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION fairlead.set_priorities(priority integer, queue text, tenant text, kind text, jobs_max integer, OUT changed bigint, OUT running bigint, OUT locked bigint) TO fairlead_operator;
GRANT ALL ON FUNCTION fairlead.set_priorities(priority integer, queue text, tenant text, kind text, jobs_max integer, OUT changed bigint, OUT running bigint, OUT locked bigint) TO fairlead_admin;

REVOKE ALL ON FUNCTION fairlead.set_priority(job_id bigint, priority integer) FROM PUBLIC;
GRANT ALL ON FUNCTION fairlead.set_priority(job_id bigint, priority integer) TO fairlead_operator;
GRANT ALL ON FUNCTION fairlead.set_priority(job_id bigint, priority integer) TO fairlead_admin;

REVOKE ALL ON FUNCTION fairlead.store_checkpoints(ids bigint[], tokens bigint[], checkpoints text[]) FROM PUBLIC;
GRANT ALL ON FUNCTION fairlead.store_checkpoints(ids bigint[], tokens bigint[], checkpoints text[]) TO fairlead_worker;

REVOKE ALL ON FUNCTION fairlead.store_progress(ids bigint[], tokens bigint[], fractions real[], notes text[]) FROM PUBLIC;
GRANT ALL ON FUNCTION fairlead.store_progress(ids bigint[], tokens bigint[], fractions real[], notes text[]) TO fairlead_worker;

REVOKE ALL ON FUNCTION fairlead.take_floor_scan_turn(pool text) FROM PUBLIC;
GRANT ALL ON FUNCTION fairlead.take_floor_scan_turn(pool text) TO fairlead_worker;

REVOKE ALL ON FUNCTION fairlead.undrain_worker(worker bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION fairlead.undrain_worker(worker bigint) TO fairlead_worker;

GRANT SELECT ON TABLE fairlead._lanes TO fairlead_viewer;
GRANT SELECT ON TABLE fairlead._lanes TO fairlead_operator;
GRANT SELECT ON TABLE fairlead._lanes TO fairlead_admin;

GRANT SELECT ON TABLE fairlead.announced_kinds TO fairlead_scheduler;
GRANT SELECT ON TABLE fairlead.announced_kinds TO fairlead_viewer;
GRANT SELECT ON TABLE fairlead.announced_kinds TO fairlead_operator;
GRANT SELECT ON TABLE fairlead.announced_kinds TO fairlead_admin;

GRANT SELECT,DELETE,UPDATE ON TABLE fairlead.attempt_errors TO fairlead_scheduler;
GRANT SELECT ON TABLE fairlead.attempt_errors TO fairlead_viewer;
GRANT SELECT ON TABLE fairlead.attempt_errors TO fairlead_operator;
GRANT SELECT ON TABLE fairlead.attempt_errors TO fairlead_admin;

GRANT SELECT ON TABLE fairlead.audit TO fairlead_viewer;
GRANT SELECT ON TABLE fairlead.audit TO fairlead_operator;
GRANT SELECT ON TABLE fairlead.audit TO fairlead_admin;

GRANT SELECT ON SEQUENCE fairlead.audit_id_seq TO fairlead_viewer;
GRANT SELECT ON SEQUENCE fairlead.audit_id_seq TO fairlead_operator;
GRANT SELECT ON SEQUENCE fairlead.audit_id_seq TO fairlead_admin;

GRANT SELECT ON SEQUENCE fairlead.awaited_until TO fairlead_viewer;
GRANT SELECT ON SEQUENCE fairlead.awaited_until TO fairlead_operator;
GRANT SELECT ON SEQUENCE fairlead.awaited_until TO fairlead_admin;

GRANT SELECT ON TABLE fairlead.batch_jobs TO fairlead_viewer;
GRANT SELECT ON TABLE fairlead.batch_jobs TO fairlead_operator;
GRANT SELECT ON TABLE fairlead.batch_jobs TO fairlead_admin;

GRANT SELECT ON SEQUENCE fairlead.batch_jobs_place_seq TO fairlead_viewer;
GRANT SELECT ON SEQUENCE fairlead.batch_jobs_place_seq TO fairlead_operator;
GRANT SELECT ON SEQUENCE fairlead.batch_jobs_place_seq TO fairlead_admin;

GRANT SELECT ON TABLE fairlead.batch_status TO fairlead_enqueue;
GRANT SELECT ON TABLE fairlead.batch_status TO fairlead_worker;
GRANT SELECT ON TABLE fairlead.batch_status TO fairlead_reader;
GRANT SELECT ON TABLE fairlead.batch_status TO fairlead_viewer;
GRANT SELECT ON TABLE fairlead.batch_status TO fairlead_scheduler;
GRANT SELECT ON TABLE fairlead.batch_status TO fairlead_operator;
GRANT SELECT ON TABLE fairlead.batch_status TO fairlead_admin;

GRANT SELECT ON SEQUENCE fairlead.batches_id_seq TO fairlead_viewer;
GRANT SELECT ON SEQUENCE fairlead.batches_id_seq TO fairlead_operator;
GRANT SELECT ON SEQUENCE fairlead.batches_id_seq TO fairlead_admin;

GRANT SELECT,INSERT ON TABLE fairlead.claim_floors TO fairlead_scheduler;
GRANT SELECT ON TABLE fairlead.claim_floors TO fairlead_viewer;
GRANT SELECT ON TABLE fairlead.claim_floors TO fairlead_operator;
GRANT SELECT ON TABLE fairlead.claim_floors TO fairlead_admin;

GRANT UPDATE(vtag) ON TABLE fairlead.claim_floors TO fairlead_scheduler;

GRANT SELECT,UPDATE ON SEQUENCE fairlead.endings_notify TO fairlead_scheduler;
GRANT SELECT ON SEQUENCE fairlead.endings_notify TO fairlead_viewer;
GRANT SELECT ON SEQUENCE fairlead.endings_notify TO fairlead_operator;
GRANT SELECT ON SEQUENCE fairlead.endings_notify TO fairlead_admin;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE fairlead.evictions TO fairlead_scheduler;
GRANT SELECT ON TABLE fairlead.evictions TO fairlead_viewer;
GRANT SELECT ON TABLE fairlead.evictions TO fairlead_operator;
GRANT SELECT ON TABLE fairlead.evictions TO fairlead_admin;

GRANT SELECT,DELETE ON TABLE fairlead.explain_requests TO fairlead_scheduler;
GRANT SELECT ON TABLE fairlead.explain_requests TO fairlead_viewer;
GRANT SELECT ON TABLE fairlead.explain_requests TO fairlead_operator;
GRANT SELECT ON TABLE fairlead.explain_requests TO fairlead_admin;

GRANT UPDATE(answered_at) ON TABLE fairlead.explain_requests TO fairlead_scheduler;

GRANT UPDATE(answer) ON TABLE fairlead.explain_requests TO fairlead_scheduler;

GRANT SELECT ON SEQUENCE fairlead.explain_requests_id_seq TO fairlead_viewer;
GRANT SELECT ON SEQUENCE fairlead.explain_requests_id_seq TO fairlead_operator;
GRANT SELECT ON SEQUENCE fairlead.explain_requests_id_seq TO fairlead_admin;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE fairlead.fairness_reports TO fairlead_scheduler;
GRANT SELECT ON TABLE fairlead.fairness_reports TO fairlead_viewer;
GRANT SELECT ON TABLE fairlead.fairness_reports TO fairlead_operator;
GRANT SELECT ON TABLE fairlead.fairness_reports TO fairlead_admin;

GRANT SELECT,INSERT ON TABLE fairlead.floor_scans TO fairlead_scheduler;
GRANT SELECT ON TABLE fairlead.floor_scans TO fairlead_viewer;
GRANT SELECT ON TABLE fairlead.floor_scans TO fairlead_operator;
GRANT SELECT ON TABLE fairlead.floor_scans TO fairlead_admin;

GRANT SELECT,UPDATE ON SEQUENCE fairlead.inserts_notify TO fairlead_scheduler;
GRANT SELECT ON SEQUENCE fairlead.inserts_notify TO fairlead_viewer;
GRANT SELECT ON SEQUENCE fairlead.inserts_notify TO fairlead_operator;
GRANT SELECT ON SEQUENCE fairlead.inserts_notify TO fairlead_admin;

GRANT SELECT ON TABLE fairlead.job_history_succeeded TO fairlead_viewer;
GRANT SELECT ON TABLE fairlead.job_history_succeeded TO fairlead_operator;
GRANT SELECT ON TABLE fairlead.job_history_succeeded TO fairlead_admin;

GRANT SELECT ON TABLE fairlead.job_history_succeeded_default TO fairlead_viewer;
GRANT SELECT ON TABLE fairlead.job_history_succeeded_default TO fairlead_operator;
GRANT SELECT ON TABLE fairlead.job_history_succeeded_default TO fairlead_admin;

GRANT SELECT ON TABLE fairlead.job_history_unsuccessful TO fairlead_scheduler;
GRANT SELECT ON TABLE fairlead.job_history_unsuccessful TO fairlead_viewer;
GRANT SELECT ON TABLE fairlead.job_history_unsuccessful TO fairlead_operator;
GRANT SELECT ON TABLE fairlead.job_history_unsuccessful TO fairlead_admin;

GRANT SELECT ON TABLE fairlead.job_history_unsuccessful_default TO fairlead_viewer;
GRANT SELECT ON TABLE fairlead.job_history_unsuccessful_default TO fairlead_operator;
GRANT SELECT ON TABLE fairlead.job_history_unsuccessful_default TO fairlead_admin;

GRANT SELECT,DELETE,UPDATE ON TABLE fairlead.job_progress TO fairlead_scheduler;
GRANT SELECT ON TABLE fairlead.job_progress TO fairlead_viewer;
GRANT SELECT ON TABLE fairlead.job_progress TO fairlead_operator;
GRANT SELECT ON TABLE fairlead.job_progress TO fairlead_admin;

GRANT SELECT ON TABLE fairlead.job_status TO fairlead_enqueue;
GRANT SELECT ON TABLE fairlead.job_status TO fairlead_reader;
GRANT SELECT ON TABLE fairlead.job_status TO fairlead_scheduler;
GRANT SELECT ON TABLE fairlead.job_status TO fairlead_viewer;
GRANT SELECT ON TABLE fairlead.job_status TO fairlead_operator;
GRANT SELECT ON TABLE fairlead.job_status TO fairlead_admin;

GRANT SELECT ON SEQUENCE fairlead.jobs_id_seq TO fairlead_scheduler;
GRANT SELECT ON SEQUENCE fairlead.jobs_id_seq TO fairlead_viewer;
GRANT SELECT ON SEQUENCE fairlead.jobs_id_seq TO fairlead_operator;
GRANT SELECT ON SEQUENCE fairlead.jobs_id_seq TO fairlead_admin;

GRANT SELECT ON TABLE fairlead.leaders TO fairlead_scheduler;
GRANT SELECT ON TABLE fairlead.leaders TO fairlead_autoscaler;
GRANT SELECT ON TABLE fairlead.leaders TO fairlead_viewer;
GRANT SELECT ON TABLE fairlead.leaders TO fairlead_operator;
GRANT SELECT ON TABLE fairlead.leaders TO fairlead_admin;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE fairlead.over_backlog TO fairlead_scheduler;
GRANT SELECT ON TABLE fairlead.over_backlog TO fairlead_viewer;
GRANT SELECT ON TABLE fairlead.over_backlog TO fairlead_operator;
GRANT SELECT ON TABLE fairlead.over_backlog TO fairlead_admin;

GRANT SELECT ON SEQUENCE fairlead.over_backlog_id_seq TO fairlead_viewer;
GRANT SELECT ON SEQUENCE fairlead.over_backlog_id_seq TO fairlead_operator;
GRANT SELECT ON SEQUENCE fairlead.over_backlog_id_seq TO fairlead_admin;

GRANT SELECT ON TABLE fairlead.paused TO fairlead_scheduler;
GRANT SELECT ON TABLE fairlead.paused TO fairlead_viewer;
GRANT SELECT ON TABLE fairlead.paused TO fairlead_operator;
GRANT SELECT ON TABLE fairlead.paused TO fairlead_admin;

GRANT SELECT ON TABLE fairlead.pod_drains TO fairlead_scheduler;
GRANT SELECT,INSERT ON TABLE fairlead.pod_drains TO fairlead_autoscaler;
GRANT SELECT ON TABLE fairlead.pod_drains TO fairlead_viewer;
GRANT SELECT ON TABLE fairlead.pod_drains TO fairlead_operator;
GRANT SELECT ON TABLE fairlead.pod_drains TO fairlead_admin;

GRANT UPDATE(drain_until) ON TABLE fairlead.pod_drains TO fairlead_autoscaler;

GRANT UPDATE(epoch) ON TABLE fairlead.pod_drains TO fairlead_autoscaler;

GRANT UPDATE(pool) ON TABLE fairlead.pod_drains TO fairlead_autoscaler;

GRANT SELECT,INSERT ON TABLE fairlead.policy_events TO fairlead_scheduler;
GRANT SELECT ON TABLE fairlead.policy_events TO fairlead_autoscaler;
GRANT SELECT ON TABLE fairlead.policy_events TO fairlead_viewer;
GRANT SELECT ON TABLE fairlead.policy_events TO fairlead_operator;
GRANT SELECT ON TABLE fairlead.policy_events TO fairlead_admin;

GRANT SELECT ON SEQUENCE fairlead.policy_events_id_seq TO fairlead_viewer;
GRANT SELECT ON SEQUENCE fairlead.policy_events_id_seq TO fairlead_operator;
GRANT SELECT ON SEQUENCE fairlead.policy_events_id_seq TO fairlead_admin;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE fairlead.policy_shadow TO fairlead_scheduler;
GRANT SELECT ON TABLE fairlead.policy_shadow TO fairlead_viewer;
GRANT SELECT ON TABLE fairlead.policy_shadow TO fairlead_operator;
GRANT SELECT ON TABLE fairlead.policy_shadow TO fairlead_admin;

GRANT SELECT ON TABLE fairlead.policy_versions TO fairlead_scheduler;
GRANT SELECT ON TABLE fairlead.policy_versions TO fairlead_autoscaler;
GRANT SELECT ON TABLE fairlead.policy_versions TO fairlead_viewer;
GRANT SELECT ON TABLE fairlead.policy_versions TO fairlead_operator;
GRANT SELECT ON TABLE fairlead.policy_versions TO fairlead_admin;

GRANT SELECT ON SEQUENCE fairlead.policy_versions_version_seq TO fairlead_viewer;
GRANT SELECT ON SEQUENCE fairlead.policy_versions_version_seq TO fairlead_operator;
GRANT SELECT ON SEQUENCE fairlead.policy_versions_version_seq TO fairlead_admin;

GRANT SELECT,INSERT ON TABLE fairlead.pool_decisions TO fairlead_autoscaler;
GRANT SELECT ON TABLE fairlead.pool_decisions TO fairlead_scheduler;
GRANT SELECT ON TABLE fairlead.pool_decisions TO fairlead_viewer;
GRANT SELECT ON TABLE fairlead.pool_decisions TO fairlead_operator;
GRANT SELECT ON TABLE fairlead.pool_decisions TO fairlead_admin;

GRANT UPDATE(epoch) ON TABLE fairlead.pool_decisions TO fairlead_autoscaler;

GRANT UPDATE(at) ON TABLE fairlead.pool_decisions TO fairlead_autoscaler;

GRANT UPDATE(decision) ON TABLE fairlead.pool_decisions TO fairlead_autoscaler;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE fairlead.pool_demand TO fairlead_scheduler;
GRANT SELECT ON TABLE fairlead.pool_demand TO fairlead_autoscaler;
GRANT SELECT ON TABLE fairlead.pool_demand TO fairlead_viewer;
GRANT SELECT ON TABLE fairlead.pool_demand TO fairlead_operator;
GRANT SELECT ON TABLE fairlead.pool_demand TO fairlead_admin;

GRANT SELECT ON TABLE fairlead.pool_logins TO fairlead_viewer;
GRANT SELECT ON TABLE fairlead.pool_logins TO fairlead_operator;
GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE fairlead.pool_logins TO fairlead_admin;

GRANT SELECT ON TABLE fairlead.pool_owners TO fairlead_viewer;
GRANT SELECT ON TABLE fairlead.pool_owners TO fairlead_operator;
GRANT SELECT ON TABLE fairlead.pool_owners TO fairlead_admin;

GRANT SELECT ON TABLE fairlead.queue_stats TO fairlead_reader;
GRANT SELECT ON TABLE fairlead.queue_stats TO fairlead_scheduler;
GRANT SELECT ON TABLE fairlead.queue_stats TO fairlead_autoscaler;
GRANT SELECT ON TABLE fairlead.queue_stats TO fairlead_viewer;
GRANT SELECT ON TABLE fairlead.queue_stats TO fairlead_operator;
GRANT SELECT ON TABLE fairlead.queue_stats TO fairlead_admin;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE fairlead.rate_usage TO fairlead_scheduler;
GRANT SELECT ON TABLE fairlead.rate_usage TO fairlead_viewer;
GRANT SELECT ON TABLE fairlead.rate_usage TO fairlead_operator;
GRANT SELECT ON TABLE fairlead.rate_usage TO fairlead_admin;

GRANT SELECT ON SEQUENCE fairlead.receipts_id_seq TO fairlead_viewer;
GRANT SELECT ON SEQUENCE fairlead.receipts_id_seq TO fairlead_operator;
GRANT SELECT ON SEQUENCE fairlead.receipts_id_seq TO fairlead_admin;

GRANT SELECT,INSERT,DELETE,UPDATE ON TABLE fairlead.schedule_fires TO fairlead_scheduler;
GRANT SELECT ON TABLE fairlead.schedule_fires TO fairlead_viewer;
GRANT SELECT ON TABLE fairlead.schedule_fires TO fairlead_operator;
GRANT SELECT ON TABLE fairlead.schedule_fires TO fairlead_admin;

GRANT SELECT ON TABLE fairlead.schedules TO fairlead_enqueue;
GRANT SELECT ON TABLE fairlead.schedules TO fairlead_reader;
GRANT SELECT ON TABLE fairlead.schedules TO fairlead_scheduler;
GRANT SELECT ON TABLE fairlead.schedules TO fairlead_viewer;
GRANT SELECT ON TABLE fairlead.schedules TO fairlead_operator;
GRANT SELECT ON TABLE fairlead.schedules TO fairlead_admin;

GRANT INSERT(name) ON TABLE fairlead.schedules TO fairlead_enqueue;
GRANT INSERT(name) ON TABLE fairlead.schedules TO fairlead_admin;

GRANT INSERT(cron),UPDATE(cron) ON TABLE fairlead.schedules TO fairlead_enqueue;
GRANT INSERT(cron),UPDATE(cron) ON TABLE fairlead.schedules TO fairlead_admin;

GRANT INSERT(timezone),UPDATE(timezone) ON TABLE fairlead.schedules TO fairlead_enqueue;
GRANT INSERT(timezone),UPDATE(timezone) ON TABLE fairlead.schedules TO fairlead_admin;

GRANT INSERT(missed),UPDATE(missed) ON TABLE fairlead.schedules TO fairlead_enqueue;
GRANT INSERT(missed),UPDATE(missed) ON TABLE fairlead.schedules TO fairlead_admin;

GRANT INSERT(enabled),UPDATE(enabled) ON TABLE fairlead.schedules TO fairlead_enqueue;
GRANT INSERT(enabled),UPDATE(enabled) ON TABLE fairlead.schedules TO fairlead_admin;
GRANT UPDATE(enabled) ON TABLE fairlead.schedules TO fairlead_operator;

GRANT INSERT(queue),UPDATE(queue) ON TABLE fairlead.schedules TO fairlead_enqueue;
GRANT INSERT(queue),UPDATE(queue) ON TABLE fairlead.schedules TO fairlead_admin;

GRANT INSERT(tenant) ON TABLE fairlead.schedules TO fairlead_enqueue;
GRANT INSERT(tenant) ON TABLE fairlead.schedules TO fairlead_admin;

GRANT INSERT(kind),UPDATE(kind) ON TABLE fairlead.schedules TO fairlead_enqueue;
GRANT INSERT(kind),UPDATE(kind) ON TABLE fairlead.schedules TO fairlead_admin;

GRANT INSERT(payload),UPDATE(payload) ON TABLE fairlead.schedules TO fairlead_enqueue;
GRANT INSERT(payload),UPDATE(payload) ON TABLE fairlead.schedules TO fairlead_admin;

GRANT INSERT(priority),UPDATE(priority) ON TABLE fairlead.schedules TO fairlead_enqueue;
GRANT INSERT(priority),UPDATE(priority) ON TABLE fairlead.schedules TO fairlead_admin;

GRANT INSERT(max_attempts),UPDATE(max_attempts) ON TABLE fairlead.schedules TO fairlead_enqueue;
GRANT INSERT(max_attempts),UPDATE(max_attempts) ON TABLE fairlead.schedules TO fairlead_admin;

GRANT INSERT(timeout),UPDATE(timeout) ON TABLE fairlead.schedules TO fairlead_enqueue;
GRANT INSERT(timeout),UPDATE(timeout) ON TABLE fairlead.schedules TO fairlead_admin;

GRANT INSERT(expires_in),UPDATE(expires_in) ON TABLE fairlead.schedules TO fairlead_enqueue;
GRANT INSERT(expires_in),UPDATE(expires_in) ON TABLE fairlead.schedules TO fairlead_admin;

GRANT INSERT(headers),UPDATE(headers) ON TABLE fairlead.schedules TO fairlead_enqueue;
GRANT INSERT(headers),UPDATE(headers) ON TABLE fairlead.schedules TO fairlead_admin;

GRANT UPDATE(considered_until) ON TABLE fairlead.schedules TO fairlead_scheduler;

GRANT UPDATE(problem) ON TABLE fairlead.schedules TO fairlead_scheduler;

GRANT INSERT(declared_by) ON TABLE fairlead.schedules TO fairlead_enqueue;
GRANT INSERT(declared_by) ON TABLE fairlead.schedules TO fairlead_admin;

GRANT SELECT ON TABLE fairlead.schema_versions TO fairlead_enqueue;
GRANT SELECT ON TABLE fairlead.schema_versions TO fairlead_reader;
GRANT SELECT ON TABLE fairlead.schema_versions TO fairlead_viewer;
GRANT SELECT ON TABLE fairlead.schema_versions TO fairlead_worker;
GRANT SELECT ON TABLE fairlead.schema_versions TO fairlead_operator;
GRANT SELECT ON TABLE fairlead.schema_versions TO fairlead_scheduler;
GRANT SELECT ON TABLE fairlead.schema_versions TO fairlead_autoscaler;
GRANT SELECT ON TABLE fairlead.schema_versions TO fairlead_admin;

GRANT SELECT ON TABLE fairlead.tenant_shares TO fairlead_reader;
GRANT SELECT ON TABLE fairlead.tenant_shares TO fairlead_scheduler;
GRANT SELECT ON TABLE fairlead.tenant_shares TO fairlead_viewer;
GRANT SELECT ON TABLE fairlead.tenant_shares TO fairlead_operator;
GRANT SELECT ON TABLE fairlead.tenant_shares TO fairlead_admin;

GRANT SELECT ON TABLE fairlead.tenant_stats TO fairlead_reader;
GRANT SELECT ON TABLE fairlead.tenant_stats TO fairlead_scheduler;
GRANT SELECT ON TABLE fairlead.tenant_stats TO fairlead_viewer;
GRANT SELECT ON TABLE fairlead.tenant_stats TO fairlead_operator;
GRANT SELECT ON TABLE fairlead.tenant_stats TO fairlead_admin;

GRANT SELECT ON SEQUENCE fairlead.tokens TO fairlead_scheduler;
GRANT SELECT ON SEQUENCE fairlead.tokens TO fairlead_viewer;
GRANT SELECT ON SEQUENCE fairlead.tokens TO fairlead_operator;
GRANT SELECT ON SEQUENCE fairlead.tokens TO fairlead_admin;

GRANT SELECT ON TABLE fairlead.unique_periods TO fairlead_viewer;
GRANT SELECT ON TABLE fairlead.unique_periods TO fairlead_operator;
GRANT SELECT ON TABLE fairlead.unique_periods TO fairlead_admin;

GRANT SELECT ON TABLE fairlead.waits TO fairlead_viewer;
GRANT SELECT ON TABLE fairlead.waits TO fairlead_operator;
GRANT SELECT ON TABLE fairlead.waits TO fairlead_admin;

GRANT SELECT ON TABLE fairlead.worker_kind_limits TO fairlead_scheduler;
GRANT SELECT ON TABLE fairlead.worker_kind_limits TO fairlead_viewer;
GRANT SELECT ON TABLE fairlead.worker_kind_limits TO fairlead_operator;
GRANT SELECT ON TABLE fairlead.worker_kind_limits TO fairlead_admin;

GRANT UPDATE(known) ON TABLE fairlead.worker_kind_limits TO fairlead_scheduler;

GRANT SELECT ON TABLE fairlead.worker_kinds TO fairlead_scheduler;
GRANT SELECT ON TABLE fairlead.worker_kinds TO fairlead_viewer;
GRANT SELECT ON TABLE fairlead.worker_kinds TO fairlead_operator;
GRANT SELECT ON TABLE fairlead.worker_kinds TO fairlead_admin;

GRANT SELECT,DELETE ON TABLE fairlead.worker_leases TO fairlead_scheduler;
GRANT SELECT ON TABLE fairlead.worker_leases TO fairlead_autoscaler;
GRANT SELECT ON TABLE fairlead.worker_leases TO fairlead_viewer;
GRANT SELECT ON TABLE fairlead.worker_leases TO fairlead_operator;
GRANT SELECT ON TABLE fairlead.worker_leases TO fairlead_admin;

GRANT UPDATE(dead_at) ON TABLE fairlead.worker_leases TO fairlead_scheduler;

GRANT SELECT ON SEQUENCE fairlead.worker_leases_id_seq TO fairlead_viewer;
GRANT SELECT ON SEQUENCE fairlead.worker_leases_id_seq TO fairlead_operator;
GRANT SELECT ON SEQUENCE fairlead.worker_leases_id_seq TO fairlead_admin;

GRANT SELECT ON TABLE fairlead.workers TO fairlead_reader;
GRANT SELECT ON TABLE fairlead.workers TO fairlead_scheduler;
GRANT SELECT ON TABLE fairlead.workers TO fairlead_autoscaler;
GRANT SELECT ON TABLE fairlead.workers TO fairlead_viewer;
GRANT SELECT ON TABLE fairlead.workers TO fairlead_operator;
GRANT SELECT ON TABLE fairlead.workers TO fairlead_admin;
