-- Roles and grants, set anew on every migrate. A role is made when the installer may make roles;
-- one that is missing is passed over, and gets its rights when migrate runs again. What a role has
-- beyond the grants below, from an older version or from a hand, is taken away in the same transaction.

do $roles$
declare
    may_make boolean := (select rolsuper or rolcreaterole from pg_roles where rolname = current_user);
    role name;
    missing text;
begin
    foreach role in array array['fairlead_enqueue', 'fairlead_reader', 'fairlead_viewer', 'fairlead_worker',
                                'fairlead_operator', 'fairlead_scheduler', 'fairlead_autoscaler', 'fairlead_admin']::name[]
    loop
        if exists (select from pg_roles where rolname = role) then
            continue;
        end if;
        if not may_make then
            missing := concat_ws(', ', missing, role);
            continue;
        end if;
        begin
            execute format('create role %I nologin', role);
        exception when duplicate_object or unique_violation then
            -- Another installer on this server made it a moment ago.
            raise notice 'fairlead: role % exists', role;
        end;
    end loop;
    if missing is not null then
        raise warning 'login % may not create roles, and these are missing: %', current_user, missing
            using hint = 'Logins that need one of them cannot work with this schema until an administrator has '
                         'created them and fairlead migrate has run again.';
    end if;
end $roles$;

-- Everything belongs to the schema's owner, and nobody else may make anything in it: what another login
-- puts there, such as a trigger, runs with the rights of whoever comes by. Once the scheduler's role owned
-- the history.
do $owner$
declare
    schema_owner constant name := (select pg_get_userbyid(n.nspowner) from pg_namespace n
                                   where n.nspname = 'fairlead');
    taken regclass;
    found text;
begin
    for taken in
        select c.oid from pg_class c
        where c.relnamespace = 'fairlead'::regnamespace and c.relkind in ('r', 'p')
          and c.relowner = to_regrole('fairlead_scheduler') order by c.relname
    loop
        execute format('alter table %s owner to %I', taken, schema_owner);
        for found in
            select format('trigger %I on fairlead.%I', t.tgname, c.relname)
            from pg_trigger t join pg_class c on c.oid = t.tgrelid
            where t.tgrelid = taken and not t.tgisinternal and t.tgparentid = 0 order by t.tgname
        loop
            raise warning '% was made while fairlead_scheduler owned the table', found
                using hint = 'Drop it, unless you know what it is for.';
        end loop;
    end loop;
    for found in
        select format('fairlead.%s belongs to %I', o.name, pg_get_userbyid(o.owned_by))
        from (select format('%I(%s)', p.proname, pg_get_function_identity_arguments(p.oid)),
                     p.proowner, p.pronamespace from pg_proc p
              union all
              select quote_ident(c.relname), c.relowner, c.relnamespace from pg_class c
              where c.relkind in ('r', 'p', 'v', 'S')) o (name, owned_by, namespace)
        where o.namespace = 'fairlead'::regnamespace
          and o.owned_by not in (quote_ident(schema_owner)::regrole, quote_ident(current_user)::regrole)
          and not (select r.rolsuper from pg_roles r where r.oid = o.owned_by)
        order by 1
    loop
        raise warning '%, which is not the owner of schema fairlead', found
            using hint = 'Give it to the schema''s owner if it is Fairlead''s, and drop it otherwise.';
    end loop;
exception when insufficient_privilege then
    raise insufficient_privilege using
        message = format('login %s may not take back what fairlead_scheduler owns in schema fairlead: %s',
                         current_user, sqlerrm),
        hint = format('Have an administrator run "grant fairlead_scheduler to %I", then run fairlead '
                      'migrate again.', current_user);
end $owner$;

revoke all on schema fairlead from public;
revoke all on all tables in schema fairlead from public;
revoke all on all sequences in schema fairlead from public;
revoke all on all functions in schema fairlead from public;

-- An owner keeps what is its own. Before the grants, and seen by others together with them.
do $revokes$
declare
    role name;
    line text;
begin
    for role, line in
        select r.rolname, format('revoke all on %s %s from %I cascade', o.kind, o.called, r.rolname)
        from (
            select 'table' as kind, c.oid::regclass::text as called, c.relowner as owner, acl.grantee
            from pg_class c, lateral (
                select g.grantee from aclexplode(c.relacl) g
                union
                select g.grantee from pg_attribute a, aclexplode(a.attacl) g
                where a.attrelid = c.oid and not a.attisdropped) acl
            where c.relnamespace = 'fairlead'::regnamespace and c.relkind <> 'S'
            union
            select 'sequence', c.oid::regclass::text, c.relowner, g.grantee
            from pg_class c, aclexplode(c.relacl) g
            where c.relnamespace = 'fairlead'::regnamespace and c.relkind = 'S'
            union
            select 'routine', p.oid::regprocedure::text, p.proowner, g.grantee
            from pg_proc p, aclexplode(p.proacl) g where p.pronamespace = 'fairlead'::regnamespace
            union
            select 'schema', n.oid::regnamespace::text, n.nspowner, g.grantee
            from pg_namespace n, aclexplode(n.nspacl) g where n.nspname = 'fairlead') o
        join pg_roles r on r.oid = o.grantee and r.oid <> o.owner
        where r.rolname in ('fairlead_enqueue', 'fairlead_reader', 'fairlead_viewer', 'fairlead_worker',
                            'fairlead_operator', 'fairlead_scheduler', 'fairlead_autoscaler', 'fairlead_admin')
    loop
        execute line;
    end loop;
end $revokes$;

do $grants$
declare
    line text;
    role text;
begin
    foreach line in array array[
        'grant usage on schema fairlead to fairlead_enqueue, fairlead_reader, fairlead_viewer, fairlead_worker, fairlead_operator, fairlead_scheduler, fairlead_autoscaler, fairlead_admin',
        'grant select on fairlead.schema_versions to fairlead_enqueue, fairlead_reader, fairlead_viewer, fairlead_worker, fairlead_operator, fairlead_scheduler, fairlead_autoscaler, fairlead_admin',

        'grant insert (queue, tenant, kind, payload, priority, run_at, expires_at, dedup_key, max_attempts, timeout, cost_hint, headers, batch) on fairlead.jobs to fairlead_enqueue, fairlead_worker, fairlead_admin',
        'grant select (id, queue, tenant, dedup_key) on fairlead.jobs to fairlead_enqueue, fairlead_worker',
        -- Row by row it is those that are its own, as for schedules: see rls.sql.
        'grant insert (open, tenant, queue, kind, payload, priority, max_attempts, timeout, headers) on fairlead.batches to fairlead_enqueue, fairlead_worker, fairlead_admin',
        'grant select on fairlead.batches to fairlead_enqueue, fairlead_worker, fairlead_reader',
        'grant select on fairlead.batch_status to fairlead_enqueue, fairlead_worker, fairlead_reader, fairlead_viewer, fairlead_scheduler',
        'grant execute on function fairlead.list_batches(text, text, integer, bigint) to fairlead_enqueue, fairlead_worker, fairlead_reader, fairlead_viewer, fairlead_scheduler, fairlead_operator, fairlead_admin',
        'grant execute on function fairlead.close_batch(bigint) to fairlead_enqueue, fairlead_worker, fairlead_operator, fairlead_admin',
        'grant execute on function fairlead._settle_batches(bigint, bigint, integer, integer, integer), fairlead._forget_batches(bigint, integer, integer) to fairlead_scheduler',
        'grant select (id, open, problem, created_at, completed_at) on fairlead.batches to fairlead_scheduler',
        'grant usage on sequence fairlead.places to fairlead_enqueue, fairlead_worker, fairlead_scheduler, fairlead_admin',
        'grant select on fairlead.job_status to fairlead_enqueue',
        'grant execute on function fairlead._sees(text), fairlead._sees_all(), fairlead._owns(text, text), fairlead._owns_batch(text, text), fairlead._reads_all() to fairlead_enqueue, fairlead_reader, fairlead_viewer, fairlead_worker, fairlead_operator, fairlead_scheduler, fairlead_autoscaler, fairlead_admin',
        'grant execute on function fairlead._follow_ups() to fairlead_worker',
        'grant execute on function fairlead.enqueue(text, jsonb, text, text, integer, timestamptz, timestamptz, text, integer, interval, interval, jsonb, bigint, boolean, interval, interval, interval) to fairlead_enqueue, fairlead_worker, fairlead_admin',
        'grant insert (name, cron, timezone, missed, enabled, queue, tenant, kind, payload, priority, max_attempts, timeout, expires_in, headers, declared_by) on fairlead.schedules to fairlead_enqueue, fairlead_admin',
        -- Row by row it is those that are its own: see rls.sql.
        'grant select, update (cron, timezone, missed, enabled, queue, kind, payload, priority, max_attempts, timeout, expires_in, headers) on fairlead.schedules to fairlead_enqueue',
        'grant execute on function fairlead.list_jobs(text, text, text, text, integer, timestamptz, timestamptz, bigint), fairlead._list_jobs(text, text, text, text, integer, timestamptz, timestamptz, bigint) to fairlead_enqueue, fairlead_reader, fairlead_viewer, fairlead_scheduler, fairlead_operator, fairlead_admin',
        'grant execute on function fairlead._await_ending(bigint) to fairlead_enqueue, fairlead_reader, fairlead_viewer, fairlead_scheduler, fairlead_operator, fairlead_admin',
        'grant execute on function fairlead._last_fire(text, text) to fairlead_enqueue, fairlead_reader, fairlead_viewer, fairlead_operator, fairlead_scheduler, fairlead_admin',
        'grant execute on function fairlead.explain(bigint), fairlead.cancel(bigint), fairlead.cancel_jobs(text, text, text, integer), fairlead._cancel_jobs(text, text, text, bigint, integer), fairlead.remove_schedules(text, text), fairlead.retry(bigint) to fairlead_enqueue',

        'grant select on fairlead.job_status, fairlead.tenant_stats, fairlead.tenant_shares, fairlead.queue_stats, fairlead.workers, fairlead.schedules to fairlead_reader',
        'grant execute on function fairlead.explain(bigint) to fairlead_reader, fairlead_viewer',

        'grant execute on function fairlead.register_worker(text, text, integer, double precision, integer, text, text, text, text, boolean), fairlead.announce_kinds(bigint, text[], integer[], boolean[]), fairlead.limit_kinds(bigint, text[], integer[]), fairlead.awaits_limits(bigint), fairlead.renew_worker(bigint, double precision, integer, bigint[], bigint[], integer, jsonb, text[]), fairlead.undrain_worker(bigint), fairlead.say_drained(bigint), fairlead.deregister_workers(bigint[]), fairlead._predecessors(text, text), fairlead._leased(bigint[], timestamptz) to fairlead_worker',
        'grant execute on function fairlead.claim(bigint, integer, boolean, text[]), fairlead._claimable(text, boolean), fairlead.take_floor_scan_turn(text), fairlead._pass_over(bigint, text[], integer), fairlead._begin_in_quarantine(bigint, bigint), fairlead.extend_deadlines(bigint[], bigint[], double precision[]), fairlead._keep_deadlines(bigint[], bigint[], double precision), fairlead.store_progress(bigint[], bigint[], real[], text[]), fairlead.store_checkpoints(bigint[], bigint[], text[]), fairlead._forget_progress(bigint[], bigint[]), fairlead._origins(bigint[], bigint[]), fairlead._sources(bigint[], bigint[]), fairlead._unfinished(), fairlead._awaited(), fairlead._own_pool(text, text) to fairlead_worker',
        'grant execute on function fairlead.finish(bigint[], bigint[], text[], text[], text[], bigint[]), fairlead._lock_free(bigint[], bigint[]), fairlead._ended(bigint[], bigint[]), fairlead.hand_back(bigint[], bigint[], text[], text[], interval[]), fairlead.release(bigint[], bigint[], bigint[]), fairlead._count_crashes(bigint[], bigint[]), fairlead.complete(bigint, bigint, jsonb), fairlead.fail(bigint, bigint, text, interval), fairlead.extend(bigint, bigint, interval), fairlead.checkpoint(bigint, bigint, jsonb) to fairlead_worker',

        -- DELETE, and UPDATE of a whole table, are rights to lock it: jobs and floors have neither.
        'grant select, insert, update (due_at, run_at, seq) on fairlead.jobs to fairlead_scheduler',
        'grant select, insert, update (vtag) on fairlead.claim_floors to fairlead_scheduler',
        'grant select, update (dead_at), delete on fairlead.worker_leases to fairlead_scheduler',
        'grant select on fairlead.worker_kinds, fairlead.announced_kinds to fairlead_scheduler',
        'grant select, update (known) on fairlead.worker_kind_limits to fairlead_scheduler',
        'grant select, insert, update (deadline, vtag), delete on fairlead.work_queue to fairlead_scheduler',
        'grant select, insert, update, delete on fairlead.receipts, fairlead.schedule_fires to fairlead_scheduler',
        'grant select, update, delete on fairlead.job_progress, fairlead.attempt_errors to fairlead_scheduler',
        'grant select, update (considered_until, problem) on fairlead.schedules to fairlead_scheduler',
        'grant select, insert on fairlead.floor_scans to fairlead_scheduler',
        'grant select on fairlead.job_history to fairlead_scheduler',
        'grant select on fairlead.job_history_unsuccessful to fairlead_scheduler',
        'grant select on fairlead.leaders, fairlead.paused, fairlead.workers, fairlead.queue_stats, fairlead.tenant_stats, fairlead.tenant_shares, fairlead.job_status to fairlead_scheduler',
        'grant execute on function fairlead._steal(bigint, bigint[], bigint[], text[]), fairlead._expire(bigint, timestamptz, integer), fairlead._expire_turns(bigint, text, text, integer, integer, integer), fairlead._recall(bigint, bigint[]), fairlead._fire(bigint, text[], text[], text[], text[], bigint[], text[], bigint[], bigint[]), fairlead.make_history_partitions(integer), fairlead.drop_history_partitions(integer, integer), fairlead._administrators(), fairlead._forget_audit(bigint, integer, integer) to fairlead_scheduler',
        'grant execute on function fairlead._acquire_leadership(text, double precision, text), fairlead._renew_leadership(bigint, double precision), fairlead._release_leadership(bigint), fairlead._leads(bigint) to fairlead_scheduler',
        'grant execute on function fairlead._notify(text, text) to fairlead_scheduler, fairlead_autoscaler',
        'grant execute on function fairlead._own_database(text) to fairlead_scheduler, fairlead_admin',
        'grant execute on function fairlead._leader_fault(text) to fairlead_worker, fairlead_viewer, fairlead_operator, fairlead_scheduler, fairlead_autoscaler, fairlead_admin',

        'grant select on fairlead.policy_versions to fairlead_scheduler',
        'grant select, insert on fairlead.policy_events to fairlead_scheduler',
        'grant select, insert, update, delete on fairlead.rate_usage to fairlead_scheduler',
        'grant select, update (answered_at, answer), delete on fairlead.explain_requests to fairlead_scheduler',
        'grant select, insert, update, delete on fairlead.over_backlog to fairlead_scheduler',
        'grant select, update on sequence fairlead.backlog_gate, fairlead.inserts_notify, fairlead.endings_notify to fairlead_scheduler',
        -- What `fairlead top` counts, in the scheduler's pod; SELECT draws nothing.
        'grant select on sequence fairlead.jobs_id_seq, fairlead.tokens to fairlead_scheduler',
        'grant execute on function fairlead._backlog_bit(text), fairlead._scan_from(bigint) to fairlead_scheduler',
        'grant execute on function fairlead._epoch_us(timestamptz), fairlead._span_us(interval), fairlead._one_more(integer), fairlead._deadline(interval) to fairlead_worker, fairlead_viewer, fairlead_operator, fairlead_scheduler, fairlead_autoscaler, fairlead_admin',
        'grant select, insert, update, delete on fairlead.fairness_reports to fairlead_scheduler',

        'grant select, insert, update, delete on fairlead.policy_shadow to fairlead_scheduler',
        'grant select, insert, update, delete on fairlead.evictions to fairlead_scheduler',

        'grant select, insert, update, delete on fairlead.pool_demand to fairlead_scheduler',
        'grant select on fairlead.pod_drains to fairlead_scheduler',
        'grant execute on function fairlead._forget_drains(bigint), fairlead._forget_periods(bigint, integer), fairlead._end_pauses(bigint, integer) to fairlead_scheduler',

        'grant select on fairlead.work_queue, fairlead.worker_leases, fairlead.workers, fairlead.leaders, fairlead.queue_stats to fairlead_autoscaler',
        'grant select (id, queue, run_at) on fairlead.jobs to fairlead_autoscaler',
        'grant execute on function fairlead._autoscaler_leads(bigint), fairlead._begin_autoscaler_epoch(text, text), fairlead._unmark_drains(bigint, text[]) to fairlead_autoscaler',
        'grant select on fairlead.pool_demand, fairlead.policy_versions, fairlead.policy_events to fairlead_autoscaler',
        'grant select, insert, update (drain_until, epoch, pool) on fairlead.pod_drains to fairlead_autoscaler',
        'grant select, insert, update (epoch, at, decision) on fairlead.pool_decisions to fairlead_autoscaler',
        'grant select on fairlead.pool_decisions to fairlead_scheduler',
        'grant select, update (policy_source, policy_place) on fairlead.install_options to fairlead_autoscaler',
        'grant execute on function fairlead.apply_policy(text, text, text, text), fairlead.note_refused_policy(text, text, text) to fairlead_autoscaler',

        -- A viewer reads what an operator does, and explain() alone stores something for it: its question.
        -- An operator changes what the fleet does now, by functions that note who it was.
        'grant select on all tables in schema fairlead to fairlead_viewer, fairlead_operator, fairlead_admin',
        'grant select on all sequences in schema fairlead to fairlead_viewer, fairlead_operator, fairlead_admin',
        'grant update (enabled) on fairlead.schedules to fairlead_operator',
        'grant update (cron, timezone, missed, enabled, queue, kind, payload, priority, max_attempts, timeout, expires_in, headers) on fairlead.schedules to fairlead_admin',
        'grant insert, update, delete on fairlead.tenant_logins, fairlead.pool_logins to fairlead_admin',
        'grant execute on function fairlead.explain(bigint), fairlead.cancel(bigint), fairlead.cancel_jobs(text, text, text, integer), fairlead._cancel_jobs(text, text, text, bigint, integer), fairlead.retry(bigint), fairlead.set_priority(bigint, integer), fairlead.set_priorities(integer, text, text, text, integer), fairlead._set_priorities(integer, text, text, text, bigint, integer), fairlead.redrive(text, text, text, timestamptz, integer), fairlead._redrive(text, text, text, timestamptz, bigint, integer), fairlead.pause(text, text, timestamptz), fairlead.resume(text, text), fairlead.run_schedule(text, text), fairlead._release_worker(bigint), fairlead._release_jobs(bigint, bigint, integer), fairlead.reset_leadership() to fairlead_operator, fairlead_admin',
        'grant execute on function fairlead.apply_policy(text, text, text, text), fairlead.note_refused_policy(text, text, text), fairlead._assign_pool(text, text), fairlead._own_pool(text, text), fairlead._take_over(text) to fairlead_admin',
        'grant execute on function fairlead.redact(bigint), fairlead._erase_history(text, bigint, integer), fairlead._erase_batches(text, bigint, integer), fairlead._erase_periods(text), fairlead.remove_schedules(text, text) to fairlead_admin',
        'grant execute on function fairlead.complete(bigint, bigint, jsonb), fairlead.fail(bigint, bigint, text, interval), fairlead.extend(bigint, bigint, interval), fairlead.checkpoint(bigint, bigint, jsonb), fairlead.make_history_partitions(integer) to fairlead_admin'
    ] loop
        -- A grant that names several roles is made for those of them that exist.
        for role in select trim(r) from unnest(
            string_to_array(substring(line from ' to (fairlead_[a-z_, ]+)$'), ',')) r
        loop
            if exists (select from pg_roles where rolname = role) then
                execute regexp_replace(line, ' to fairlead_[a-z_, ]+$', ' to ' || role);
            end if;
        end loop;
    end loop;
end $grants$;
