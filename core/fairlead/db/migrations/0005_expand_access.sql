-- Which tenants a login may see. Without row-level security every login sees every tenant; with it
-- (migrate --rls) the tenant comes from the login role, never from a setting its user can change.

create table fairlead.install_options (
    only_row boolean primary key default true check (only_row),
    rls      boolean not null default false
);
insert into fairlead.install_options default values;
comment on table fairlead.install_options is 'How this schema was installed.';

create table fairlead.tenant_logins (
    login  name not null,
    tenant text collate "C" not null,
    primary key (login, tenant)
);
comment on table fairlead.tenant_logins is
    'The tenants of each login role, where row-level security is installed.';

create function fairlead._is_member(of_role text) returns boolean
language plpgsql stable security definer set search_path = pg_catalog, pg_temp as $$
begin
    return exists (select from pg_roles where rolname = of_role)
       and pg_has_role(session_user, of_role, 'member');
end $$;
