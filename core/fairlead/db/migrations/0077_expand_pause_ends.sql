-- Pauses that end by themselves, at an instant.

alter table fairlead.paused add column until timestamptz;
create index paused_until on fairlead.paused (until) where until is not null;
comment on column fairlead.paused.until is
    'When the leader ends the pause, unless somebody resumes it before; null: only somebody does.';

drop function if exists fairlead.pause(text, text);

-- Stops new dispatch of a queue, or of one tenant in it, from the scheduler's next tick; what is
-- queued is recalled within 2 s, what runs finishes. It lasts until somebody resumes it, or until an instant: then the
-- leader ends it. A repeat changes that instant alone, and without one takes it away.
create function fairlead.pause(
    queue text, tenant text default null, until timestamptz default null
) returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp set enable_seqscan = off set jit = off as $$
begin
    if octet_length(pause.queue) not between 1 and 128 or octet_length(pause.tenant) > 128 then
        raise exception 'fairlead: queue must be 1 to 128 bytes and tenant at most 128'
            using errcode = 'check_violation';
    end if;
    if (pause.until > clock_timestamp() and pause.until <= clock_timestamp() + interval '366 days') is false then
        raise exception 'fairlead: until is %: give an instant that lies ahead, by 366 days at most', pause.until
            using errcode = 'invalid_parameter_value';
    end if;
    if not fairlead._sees_all() and (pause.tenant is null or not fairlead._sees(pause.tenant)) then
        raise exception 'fairlead: this login may pause its own tenant only'
            using errcode = 'insufficient_privilege';
    end if;
    insert into fairlead.paused as p (queue, tenant, until) values (pause.queue, pause.tenant, pause.until)
    on conflict on constraint paused_once do update set until = excluded.until
    where p.until is distinct from excluded.until;
    if found then
        perform fairlead._record_audit(
            'pause', queue => pause.queue, tenant => pause.tenant,
            details => case when pause.until is not null then jsonb_build_object('until', pause.until) end);
    end if;
    perform fairlead._notify('fairlead_scheduler', '');
end $$;

-- Ends pauses whose end has come, those that are over longest first and rows_max at most; answers how many. Each is an
-- entry of the audit log, like one that somebody ends. One that is given another end meanwhile is left.
create function fairlead._end_pauses(my_epoch bigint, rows_max integer) returns integer
language plpgsql security definer set search_path = pg_catalog, pg_temp set enable_seqscan = off set jit = off as $$
declare
    pause record;
    ended integer := 0;
begin
    if not exists (select from fairlead.paused p where p.until <= now())
       or not fairlead._leads(my_epoch) then
        return 0;
    end if;
    for pause in
        delete from fairlead.paused p
        where p.ctid = any (array(
            select o.ctid from fairlead.paused o
            where o.until <= now() order by o.until limit least(_end_pauses.rows_max, 10000)
            for update skip locked))
        returning p.queue, p.tenant, p.until
    loop
        perform fairlead._record_audit(
            'resume', queue => pause.queue, tenant => pause.tenant,
            details => jsonb_build_object('until', pause.until), reason => 'its end has come');
        ended := ended + 1;
    end loop;
    perform fairlead._notify('fairlead_scheduler', '') where ended > 0;
    return ended;
end $$;
