-- What INSERTs and endings read to know whether the leader wants to be notified.

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
        perform fairlead._notify('fairlead_scheduler', reason);
    end if;
end $$;

-- A lock ended with the leader's session, and a value does not: who acquires or releases the lease removes it.
create function fairlead._end_notifications() returns void
language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
    perform setval('fairlead.inserts_notify', 1, false), setval('fairlead.endings_notify', 1, false);
end $$;
