-- role_of_login: whether there are a login and a role, and whether the login has the role's rights.
-- locks: none
-- index: none: catalogs.
select r.rolcanlogin as can_login, r.rolsuper as superuser, to_regrole(%(role)s::text) is not null as role_there,
       coalesce(pg_has_role(r.oid, to_regrole(%(role)s::text)::oid, 'member'), false) as member,
       coalesce(pg_has_role(r.oid, to_regrole(%(role)s::text)::oid, 'usage'), false) as inherits
from (select) always left join pg_roles r on r.rolname = %(login)s
