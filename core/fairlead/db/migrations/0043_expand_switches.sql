-- What INSERTs and endings read to know whether the leader wants to be notified.

-- PostgreSQL prepares no transaction that has notified (PREPARE TRANSACTION). Whoever prepares theirs sets
-- fairlead.notify = off, for the role, the database, the session or the transaction: no trigger can know that a
-- transaction will be prepared. The scheduler finds by polling what did not notify. The setting is read last, so
-- that an INSERT that wakes nobody does not pay for it.

-- It was an advisory lock, which any login of the database can hold. A sequence is written by those alone who may,
-- and is read in place like a lock, past every snapshot. One that has a value says yes. They are unlogged: to set
-- one writes no WAL, and after a crash or a fail-over it has no value, as no leader sleeps then.
create unlogged sequence fairlead.inserts_notify;
comment on sequence fairlead.inserts_notify is
    'Has a value while every INSERT into jobs is to notify the leader, which sleeps.';
create unlogged sequence fairlead.endings_notify;
comment on sequence fairlead.endings_notify is
    'Has a value while every ending is to notify the leader, which has a lane that waits for one.';

-- PostgreSQL prepares no transaction that has notified (PREPARE TRANSACTION). Whoever prepares theirs sets
-- fairlead.notify = off, for the role, the database, the session or the transaction: no trigger can know that a
-- transaction will be prepared. The scheduler finds by polling what did not notify. The setting is read last, so
-- that an INSERT that wakes nobody does not pay for it.
create function fairlead._notify_scheduler(reason text) returns void
language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
    if coalesce(current_setting('fairlead.notify', true), '') not in ('off', 'false', 'no', '0') then
        perform pg_notify('fairlead_scheduler', reason);
    end if;
end $$;

-- As the schema's owner, who alone reads the sequences beside the leader. They name these functions and nothing
-- else: any other name would be looked up where the caller says, and a search path of their own costs each INSERT
-- as much as the rest of the trigger.
create or replace function fairlead._wake_scheduler() returns trigger language plpgsql security definer as $$
begin
    if pg_catalog.pg_sequence_last_value('fairlead.inserts_notify') is not null then
        perform fairlead._notify_scheduler('');
    end if;
    return null;
end $$;

create or replace function fairlead._wake_scheduler_at_ending() returns trigger
language plpgsql security definer as $$
begin
    if pg_catalog.pg_sequence_last_value('fairlead.endings_notify') is not null then
        perform fairlead._notify_scheduler('ended');
    end if;
    return new;
end $$;

-- A lock ended with the leader's session, and a value does not: who acquires or releases the lease removes it.
create function fairlead._end_notifications() returns void
language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
    perform setval('fairlead.inserts_notify', 1, false), setval('fairlead.endings_notify', 1, false);
end $$;

create or replace function fairlead._acquire_leadership(
    my_name text, lease_seconds double precision, my_release text, out epoch bigint, out fault text
) language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
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
    set holder = my_name, epoch = fairlead._next_epoch(l.epoch, l.timeline), timeline = fairlead._timeline(),
        taken_at = now(), lease_until = now() + make_interval(secs => lease_seconds)
    where l.role = 'scheduler' and (l.lease_until < now() or l.holder = my_name)
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

create or replace function fairlead._release_leadership(my_epoch bigint) returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
    update fairlead.leaders l set lease_until = '-infinity'
    where l.role = 'scheduler' and l.epoch = my_epoch;
    if found then
        perform fairlead._end_notifications();
        perform pg_notify('fairlead_leader', my_epoch::text);
    end if;
end $$;
