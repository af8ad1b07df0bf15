-- What an administrator, or the autoscaler's login, did without a word in the audit log.

-- Puts so many jobs of a dead worker, from one id on, back into the queue, unpunished. Answers what became of each,
-- and adds an entry where any went back: a worker that ended by itself is released by nobody, and no entry of
-- `_release_worker` says who gave its jobs away.
create function fairlead._release_jobs(worker bigint, after_id bigint, jobs_max integer)
returns table (job_id bigint, became text)
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
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

-- Answers the owner of the database, which the caller becomes if there is none and it has a name. The scheduler's row
-- decides. Beside the owner only the autoscaler locks its own, perhaps for long: that one follows when it can. Where
-- an administrator becomes the owner there is an entry; a scheduler that starts does it by itself.
create function fairlead._own_database(release text) returns text
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
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

-- Where the policy is edited is what `fairlead policy apply` tells whoever it refuses.
create function fairlead._audit_policy_source() returns trigger
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
    perform fairlead._record_audit('move_policy', details => jsonb_build_object(
        'from', concat_ws(' ', old.policy_source, nullif(old.policy_place, '')),
        'to', concat_ws(' ', new.policy_source, nullif(new.policy_place, ''))));
    return null;
end $$;
create trigger install_options_audit_policy_source after update on fairlead.install_options
    for each row when ((old.policy_source, old.policy_place) is distinct from (new.policy_source, new.policy_place))
    execute function fairlead._audit_policy_source();
