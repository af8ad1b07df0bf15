-- Endings that somebody waits for, who is told by a notification.

-- What is told is which endings are waited for, by those who wait and for a while each time. Nothing here is ever waited
-- for: a wait inserts a row of its own, and rows that are over are removed past those that another transaction has. After a
-- crash the table is empty, and who waits comes again.
create unlogged table fairlead.waits (
    job_id bigint      not null,
    until  timestamptz not null
);
create index waits_job on fairlead.waits (job_id);
create index waits_until on fairlead.waits (until);
comment on table fairlead.waits is
    'Jobs whose endings are to be notified, each until an instant: somebody waits for them.';

-- Its value is the instant until which somebody may wait, in seconds, and is read in place, past every snapshot: while
-- nobody waits an ending reads this and no more. It is over by itself, so no process has to take it away.
create unlogged sequence fairlead.awaited_until;
comment on sequence fairlead.awaited_until is
    'Until when, in seconds since 1970, somebody waits for the ending of a job; no value: nobody has yet.';

-- Has the ending of a job of the caller's, or of one that it may read, notified on fairlead_ended for 20 seconds.
create function fairlead._await_ending(job_id bigint) returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
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

-- Notifies those of the jobs that somebody waits for. They have ended in the caller's transaction.
create function fairlead._tell_waiting(ids bigint[]) returns void
language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
    if pg_sequence_last_value('fairlead.awaited_until') > date_part('epoch', clock_timestamp())
       and coalesce(current_setting('fairlead.notify', true), '') not in ('off', 'false', 'no', '0')
    then
        perform fairlead._notify('fairlead_ended', w.job_id::text)
        from fairlead.waits w
        where w.job_id = any (ids) and w.until > clock_timestamp();
    end if;
end $$;
