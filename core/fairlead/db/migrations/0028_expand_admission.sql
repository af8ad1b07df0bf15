-- No login can store a job that the admission refuses.

-- A function looks names up in the search path of its caller unless it has one of its own, and a login that
-- owns a schema could put its own operators before those of the admission. As the schema's owner, because
-- what is full is nobody's to read: an INSERT in a client's statement of its own costs 1 to 3 us more of 100.
alter function fairlead._admit_job() security definer set search_path = pg_catalog, pg_temp;
alter function fairlead._wake_scheduler() set search_path = pg_catalog, pg_temp;
alter function fairlead._wake_scheduler_at_ending() set search_path = pg_catalog, pg_temp;
alter function fairlead._begin_schedule_anew() set search_path = pg_catalog, pg_temp;
alter function fairlead._require_read_committed() set search_path = pg_catalog, pg_temp;
alter function fairlead._leads(bigint) set search_path = pg_catalog, pg_temp;
alter function fairlead._raise_stale(bigint, bigint) set search_path = pg_catalog, pg_temp;
alter function fairlead._backoff(integer) set search_path = pg_catalog, pg_temp;
alter function fairlead._end_unstarted(bigint[], text, text[]) set search_path = pg_catalog, pg_temp;
alter function fairlead._end_expired(bigint[]) set search_path = pg_catalog, pg_temp;
alter function fairlead._history_partition(text, date) set search_path = pg_catalog, pg_temp;
alter function fairlead.make_history_partitions(integer) set search_path = pg_catalog, pg_temp;

-- The bits of all full lanes could be asked for by anybody who may insert. The trigger asks as the owner now.
do $$
declare
    role text;
begin
    foreach role in array array['fairlead_enqueue', 'fairlead_admin'] loop
        if to_regrole(role) is not null then
            execute format('revoke execute on function fairlead._has_room(text, text, text, bigint), '
                           'fairlead._backlog_bit(text) from %I', role);
        end if;
    end loop;
    if to_regrole('fairlead_enqueue') is not null then
        revoke select on sequence fairlead.backlog_gate from fairlead_enqueue;
    end if;
    if to_regrole('fairlead_scheduler') is not null then
        revoke execute on function fairlead._has_room(text, text, text, bigint) from fairlead_scheduler;
    end if;
end $$;
