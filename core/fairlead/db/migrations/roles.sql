-- Roles and grants, set anew on every migrate. A role is made when the installer may make roles;
-- one that is missing is passed over, and gets its rights when migrate runs again.

revoke all on schema fairlead from public;
revoke all on all tables in schema fairlead from public;
revoke all on all sequences in schema fairlead from public;
revoke all on all functions in schema fairlead from public;

do $roles$
declare
    may_make boolean := (select rolsuper or rolcreaterole from pg_roles where rolname = current_user);
    role name;
    missing text;
begin
    foreach role in array array['fairlead_enqueue', 'fairlead_worker', 'fairlead_scheduler',
                                'fairlead_autoscaler', 'fairlead_admin']::name[]
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
            using hint = 'Only the owner can work with this schema until an administrator has created '
                         'them and fairlead migrate has run again.';
    end if;
end $roles$;

-- The login that keeps the history makes, attaches, detaches and drops its partitions, and PostgreSQL lets
-- only a table's owner do that. So the history belongs to fairlead_scheduler and any login that is a
-- member of it may keep partitions. Where this login may not arrange that, the history stays its own.
do $history$
declare
    part regclass;
begin
    if to_regrole('fairlead_scheduler') is null then
        return;
    end if;
    if not pg_has_role(current_user, 'fairlead_scheduler', 'usage') then
        execute format('grant fairlead_scheduler to %I', current_user);
    end if;
    grant usage, create on schema fairlead to fairlead_scheduler;
    for part in
        select t.relid from pg_partition_tree('fairlead.job_history') t
        join pg_class c on c.oid = t.relid
        where c.relowner <> 'fairlead_scheduler'::regrole order by t.level
    loop
        execute format('alter table %s owner to fairlead_scheduler', part);
    end loop;
    -- Functions that end jobs run as the schema's owner.
    execute format('grant select, insert, update (retried_as) on fairlead.job_history to %I', current_user);
    execute format('grant select, update (retried_as) on fairlead.job_history_unsuccessful to %I', current_user);
exception when insufficient_privilege then
    raise warning 'history partitions belong to %, not to fairlead_scheduler: %', current_user, sqlerrm
        using hint = format('Have an administrator run "grant fairlead_scheduler to %I", then run '
                            'fairlead migrate again; or let the scheduler log in as %1$I.', current_user);
end $history$;

do $grants$
declare
    line text;
    role text;
begin
    foreach line in array array[
        'grant usage on schema fairlead to fairlead_enqueue, fairlead_worker, fairlead_scheduler, fairlead_autoscaler, fairlead_admin',
        'grant select on fairlead.schema_versions to fairlead_enqueue, fairlead_worker, fairlead_scheduler, fairlead_autoscaler, fairlead_admin',

        'grant insert (queue, tenant, kind, payload, priority, run_at, expires_at, dedup_key, max_attempts, timeout, cost_hint, headers) on fairlead.jobs to fairlead_enqueue, fairlead_admin',
        'grant select (id) on fairlead.jobs to fairlead_enqueue',
        'grant usage on sequence fairlead.places to fairlead_enqueue, fairlead_admin',
        'grant select on fairlead.job_status to fairlead_enqueue',
        'grant execute on function fairlead._sees(text), fairlead._sees_all() to fairlead_enqueue, fairlead_worker, fairlead_scheduler, fairlead_autoscaler, fairlead_admin',
        'grant insert (name, cron, timezone, missed, enabled, queue, tenant, kind, payload, priority, max_attempts, timeout, expires_in, headers) on fairlead.schedules to fairlead_enqueue, fairlead_admin',
        'grant select (name) on fairlead.schedules to fairlead_enqueue',

        'grant select, insert, update on fairlead.worker_leases to fairlead_worker',
        'grant select, update, delete on fairlead.work_queue to fairlead_worker',
        'grant select, delete on fairlead.jobs to fairlead_worker',
        'grant select, insert on fairlead.job_history to fairlead_worker',
        'grant select on fairlead.attempt_errors to fairlead_worker',
        'grant insert on fairlead.receipts to fairlead_worker',
        'grant select, insert, update, delete on fairlead.job_progress to fairlead_worker',
        'grant select, update (full_claim_at) on fairlead.claim_floors to fairlead_worker',
        'grant select on fairlead.leaders, fairlead.paused, fairlead.workers, fairlead.job_status to fairlead_worker',
        'grant usage on sequence fairlead.tokens to fairlead_worker',
        'grant execute on function fairlead.complete(bigint, bigint, jsonb), fairlead.fail(bigint, bigint, text, interval), fairlead.extend(bigint, bigint, interval), fairlead._end_attempts(bigint[], bigint[], text[], text[], interval[], boolean), fairlead._lock_free(bigint[], bigint[]), fairlead._release(bigint[], bigint[], bigint[]), fairlead._count_crashes(bigint[], bigint[]) to fairlead_worker',

        'grant select, insert, update, delete on fairlead.jobs, fairlead.work_queue, fairlead.claim_floors, fairlead.leaders, fairlead.receipts, fairlead.worker_leases, fairlead.job_progress, fairlead.attempt_errors, fairlead.schedules, fairlead.schedule_fires to fairlead_scheduler',
        'grant select, insert on fairlead.job_history to fairlead_scheduler',
        'grant select on fairlead.paused, fairlead.workers, fairlead.queue_stats, fairlead.tenant_stats, fairlead.tenant_shares, fairlead.job_status to fairlead_scheduler',
        'grant usage, select on all sequences in schema fairlead to fairlead_scheduler',
        'grant execute on function fairlead._steal(bigint, bigint[], bigint[], text[]), fairlead._expire(bigint, timestamptz, integer), fairlead._expire_turns(bigint, text, text, integer, integer, integer), fairlead._recall(bigint, bigint[]), fairlead.make_history_partitions(integer), fairlead._history_partition(text, date) to fairlead_scheduler',

        'grant select on fairlead.policy_versions to fairlead_scheduler',
        'grant select, insert on fairlead.policy_events to fairlead_scheduler',
        'grant select, insert, update, delete on fairlead.rate_usage to fairlead_scheduler',
        'grant select, update (answered_at, answer) on fairlead.explain_requests to fairlead_scheduler',
        'grant select, insert, update, delete on fairlead.over_backlog to fairlead_scheduler',
        'grant update on sequence fairlead.backlog_gate to fairlead_scheduler',
        'grant execute on function fairlead._backlog_bit(text), fairlead._scan_from(bigint) to fairlead_scheduler',
        'grant execute on function fairlead._epoch_us(timestamptz), fairlead._span_us(interval), fairlead._one_more(integer), fairlead._deadline(interval) to fairlead_worker, fairlead_scheduler, fairlead_autoscaler, fairlead_admin',
        'grant select, insert, update, delete on fairlead.fairness_reports to fairlead_scheduler',

        'grant select, insert, update, delete on fairlead.policy_shadow to fairlead_scheduler',
        'grant select, insert, update, delete on fairlead.evictions to fairlead_scheduler',
        'grant select on fairlead.evictions to fairlead_worker',

        'grant select, insert, update, delete on fairlead.pool_demand to fairlead_scheduler',
        'grant select, delete on fairlead.pod_drains to fairlead_scheduler',
        'grant select, update (drained_at) on fairlead.pod_drains to fairlead_worker',

        'grant select on fairlead.work_queue, fairlead.worker_leases, fairlead.workers, fairlead.leaders, fairlead.queue_stats to fairlead_autoscaler',
        'grant select (id, queue, run_at) on fairlead.jobs to fairlead_autoscaler',
        'grant update on fairlead.leaders to fairlead_autoscaler',
        'grant select on fairlead.pool_demand, fairlead.policy_versions, fairlead.policy_events to fairlead_autoscaler',
        'grant select, insert, update, delete on fairlead.pod_drains to fairlead_autoscaler',
        'grant select, insert, update on fairlead.pool_decisions to fairlead_autoscaler',
        'grant select on fairlead.pool_decisions to fairlead_scheduler',
        'grant select, update (policy_source, policy_place) on fairlead.install_options to fairlead_autoscaler',
        'grant execute on function fairlead.apply_policy(text, text, text, text), fairlead.note_refused_policy(text, text, text) to fairlead_autoscaler',

        'grant select on all tables in schema fairlead to fairlead_admin',
        'grant select on all sequences in schema fairlead to fairlead_admin',
        'grant update (cron, timezone, missed, enabled, queue, kind, payload, priority, max_attempts, timeout, expires_in, headers), delete on fairlead.schedules to fairlead_admin',
        'grant insert, update, delete on fairlead.tenant_logins to fairlead_admin',
        'grant update (dead_at) on fairlead.worker_leases to fairlead_admin',
        'grant execute on function fairlead.explain(bigint) to fairlead_enqueue, fairlead_admin',
        'grant execute on function fairlead.cancel(bigint), fairlead.retry(bigint), fairlead.redrive(text, text, text, timestamptz, integer), fairlead._redrive(text, text, text, timestamptz, bigint, integer), fairlead.pause(text, text), fairlead.resume(text, text), fairlead.apply_policy(text, text, text, text), fairlead.note_refused_policy(text, text, text) to fairlead_admin',
        'grant execute on function fairlead.complete(bigint, bigint, jsonb), fairlead.fail(bigint, bigint, text, interval), fairlead.extend(bigint, bigint, interval), fairlead._end_attempts(bigint[], bigint[], text[], text[], interval[], boolean), fairlead.make_history_partitions(integer) to fairlead_admin'
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
