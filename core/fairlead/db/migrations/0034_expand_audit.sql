-- The audit log: who changed what by hand, when and why. The functions themselves write it.

create table fairlead.audit (
    id               bigint      generated always as identity,
    at               timestamptz not null default clock_timestamp(),
    verb             text        collate "C" not null,
    job_id           bigint,
    queue            text        collate "C",
    tenant           text        collate "C",
    schedule         text        collate "C",
    version          bigint,
    details          jsonb,
    reason           text,
    actor            text,
    login            name        not null default session_user,
    application_name text        not null default current_setting('application_name'),
    -- In the order of time, in which it is listed and swept.
    primary key (at, id)
);
create index audit_job on fairlead.audit (job_id, at) where job_id is not null;
comment on table fairlead.audit is
    'The audit log: who cancelled, retried, redrove, ran a schedule, paused, resumed, released a worker or its jobs, bound a login, or '
    'changed a priority, a schedule, the policy, where it is edited, or whose a database is by hand, when and why. Rows are only '
    'ever added, and swept after FAIRLEAD_HISTORY_DAYS_AUDIT days.';
comment on column fairlead.audit.job_id is 'Of what: a job, a queue, a tenant, a schedule, a version of the policy.';
comment on column fairlead.audit.details is 'What else there is to say, such as the columns that changed; never a payload.';
comment on column fairlead.audit.actor is
    'Who it was, as the session says in the setting fairlead.actor; login is who the database knows it was.';

create function fairlead._audit_stays() returns trigger
language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
    raise exception 'fairlead: entries of the audit log stay as they are, for 30 days at least'
        using errcode = 'insufficient_privilege';
end $$;
create trigger audit_stays before update or truncate on fairlead.audit
    for each statement execute function fairlead._audit_stays();
create trigger audit_stays_for_30_days before delete on fairlead.audit
    for each row when (old.at > now() - interval '30 days')
    execute function fairlead._audit_stays();

-- Adds an entry to the audit log, in the caller's transaction. Actor and reason come from the session's
-- settings fairlead.actor and fairlead.reason where those are set; queue and tenant from an unfinished job.
create function fairlead._record_audit(
    verb text, job_id bigint default null, queue text default null, tenant text default null,
    schedule text default null, version bigint default null, details jsonb default null,
    reason text default null, actor text default null
) returns void language plpgsql set search_path = pg_catalog, pg_temp as $$
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

-- Deletes entries of the audit log that are older than so many days, oldest first and rows_max at most, and
-- answers how many. Nothing else deletes any. What is younger than 30 days stays, whatever it is asked.
create function fairlead._forget_audit(my_epoch bigint, days integer, rows_max integer) returns integer
language plpgsql security definer set search_path = pg_catalog, pg_temp set enable_seqscan = off set jit = off as $$
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

-- Ends a pause made with the same arguments; answers whether there was one.
create function fairlead.resume(queue text, tenant text default null) returns boolean
language plpgsql security definer set search_path = pg_catalog, pg_temp set enable_seqscan = off set jit = off as $$
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

-- Stores a policy document and answers its version, and whether it is new: what is in force already is
-- not stored again. One at a time, so that versions are in the order of their commits.
create function fairlead.apply_policy(
    document text, digest text, author text default null, reason text default ''
) returns table (version bigint, stored boolean)
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
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
