-- Numbers that a fail-over must not give twice contain the server's timeline.
--
-- An asynchronous standby that is promoted may lack the last that its primary has committed. Its sequences and its
-- rows then stand before numbers that were handed out, and processes that hold those live on. PostgreSQL gives
-- every promotion, and every recovery to a point in time, a timeline of its own, which is greater than those
-- before and in force from the first statement that writes.

-- The server's timeline: the first eight hexadecimal digits of the name of the file that it writes its log to.
-- pg_control_checkpoint() names the former one until the first checkpoint after a promotion has ended.
create function fairlead._timeline() returns integer language sql
return ('x' || left(pg_walfile_name(pg_current_wal_lsn()), 8))::bit(32)::integer;

-- What numbers of this timeline have above those of the first one: 10^12 for each later one. Numbers of two
-- timelines cannot meet as long as no fewer than that many are lost.
create function fairlead._timeline_base() returns bigint language sql
return (fairlead._timeline() - 1) * 1000000000000;

comment on sequence fairlead.tokens is
    'Fencing tokens: every claim draws a new one, and adds 10^12 for each timeline of the server after the first.';

-- --- who leads ---------------------------------------------------------------------------------------

alter table fairlead.leaders add column timeline integer not null default fairlead._timeline();
comment on column fairlead.leaders.timeline is
    'The server''s timeline when the epoch began: under another one the epoch is over.';

-- The epoch that comes after one of a timeline. 10^12 for each timeline between them: those that were begun
-- there and are lost are below it.
create function fairlead._next_epoch(epoch bigint, timeline integer) returns bigint language sql
return epoch + 1 + greatest(fairlead._timeline() - timeline, 0) * 1000000000000;

-- The same for the autoscaler, whose lease is a Lease of Kubernetes: only the epoch is kept here.
create function fairlead._autoscaler_leads(my_epoch bigint) returns boolean
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
    perform from fairlead.leaders l
    where l.role = 'autoscaler' and l.epoch = my_epoch and l.timeline = fairlead._timeline() for share;
    return found;
end $$;

-- Begins a new epoch of the autoscaler and returns it, so that no earlier controller can write any more; null
-- where the database is another release's. SQLSTATE FL006: the row cannot be used until it is mended.
create function fairlead._begin_autoscaler_epoch(my_name text, my_release text) returns bigint
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
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

-- --- workers -----------------------------------------------------------------------------------------
