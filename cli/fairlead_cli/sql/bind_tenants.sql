-- bind_tenants: give tenants to a login, where row-level security by tenant is installed. A repeat changes nothing.
-- locks: what it inserts.
-- index: tenant_logins_pkey
insert into fairlead.tenant_logins (login, tenant)
select %(login)s, t.tenant from unnest(%(tenants)s::text[]) t (tenant)
on conflict do nothing
returning tenant
