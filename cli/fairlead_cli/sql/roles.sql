-- roles: which logins have which of Fairlead's roles, directly or by another role, and what they are bound to.
--        Superusers may do everything, and are left out.
-- locks: none
-- index: none: catalogs and small tables.
select r.rolname::text as login,
       array(select a.called from unnest(%(names)s::text[], %(roles)s::text[]) with ordinality as a (called, role, place)
             where pg_has_role(r.oid, to_regrole(a.role)::oid, 'member')
             order by a.place) as roles,
       array(select t.tenant from fairlead.tenant_logins t
             where t.login = r.rolname order by t.tenant limit 100) as tenants,
       array(select distinct p.pool from fairlead.pool_logins p
             where pg_has_role(r.oid, to_regrole(quote_ident(p.login))::oid, 'member')
             order by p.pool limit 100) as pools,
       r.oid = n.nspowner as owner
from pg_namespace n
cross join pg_roles r
where n.nspname = 'fairlead' and r.rolcanlogin and not r.rolsuper
  and (r.oid = n.nspowner or exists (
      select from unnest(%(roles)s::text[]) a (role)
      where pg_has_role(r.oid, to_regrole(a.role)::oid, 'member')))
order by r.rolname limit %(limit)s
