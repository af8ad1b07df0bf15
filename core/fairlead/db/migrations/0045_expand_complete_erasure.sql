-- What jobs carried is found wherever it is, and taken out.

-- Errors of attempts outlive the history of jobs that succeeded. Those stored before have no tenant: an erasure
-- finds them for as long as their jobs are in the history.
alter table fairlead.attempt_errors add column tenant text collate "C";

-- Takes out of a finished job what it carried, also where errors of its attempts are all that is left of it.
-- Answers redacted, unfinished or unknown. A repeat is harmless.
create function fairlead.redact(job_id bigint) returns text
language plpgsql security definer set search_path = pg_catalog, pg_temp set enable_seqscan = off set jit = off as $$
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

-- Makes the partitions that are missing of yesterday, today and the next days_ahead days, and of days whose endings
-- are in a default one, which move; returns how many it made. Each lock is waited for 50 ms: a class of which
-- another session holds one is left for the next call, with a warning. Nothing missing: nothing is locked.
--
-- A default partition is read under its lock for each one that is attached. While it is large, as it is after a move
-- until it is vacuumed, partitions of days ahead are left for later.
create function fairlead.make_history_partitions(days_ahead integer default 14)
returns integer language plpgsql security definer
set search_path = pg_catalog, pg_temp set lock_timeout = '50ms' as $$
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
