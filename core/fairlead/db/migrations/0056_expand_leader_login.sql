-- Whoever may read `leaders` knows the leader's name and epoch, so neither says who asks: with them another login
-- led in the leader's place at once, released its lease, and prolonged it after the leader was gone.

alter table fairlead.leaders add column login name;
comment on column fairlead.leaders.login is
    'Whose session acquired the lease: it, or a member of it, renews and releases it. Null: any scheduler''s.';

-- Begins a new epoch if the lease has lapsed, or was this process's own, as the login that it led as: answers the
-- epoch, or, where the row cannot be acquired by waiting, why; neither: another process leads, or another release's
-- may.
create function fairlead._acquire_leadership(
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
    set holder = my_name, login = session_user, epoch = fairlead._next_epoch(l.epoch, l.timeline),
        timeline = fairlead._timeline(), taken_at = now(), lease_until = now() + make_interval(secs => lease_seconds)
    where l.role = 'scheduler' and (l.lease_until < now() or l.holder = my_name and fairlead._acts_for(l.login))
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

-- Extends the lease of this epoch, for the login that leads alone; null when another epoch is in force, the lease was
-- released, or the server is another one since.
create function fairlead._renew_leadership(my_epoch bigint, lease_seconds double precision)
returns bigint language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
    perform fairlead._check_leader('-', lease_seconds);
    update fairlead.leaders l
    set lease_until = now() + make_interval(secs => lease_seconds)
    where l.role = 'scheduler' and l.epoch = my_epoch and l.timeline = fairlead._timeline()
      and l.lease_until > '-infinity' and (l.login is null or fairlead._acts_for(l.login));
    return case when found then my_epoch end;
end $$;

-- Releases the lease of this epoch, for the login that leads alone, and notifies the standbys.
create function fairlead._release_leadership(my_epoch bigint) returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
    update fairlead.leaders l set lease_until = '-infinity'
    where l.role = 'scheduler' and l.epoch = my_epoch and (l.login is null or fairlead._acts_for(l.login));
    if found then
        perform fairlead._end_notifications();
        perform fairlead._notify('fairlead_leader', my_epoch::text);
    end if;
end $$;
