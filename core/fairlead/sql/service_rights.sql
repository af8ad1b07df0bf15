-- service_rights: whether the session's login may call the function that its service lives by, and has its role.
-- locks: none.
-- index: none: catalogs.
select session_user::text as login,
       bool_and(has_schema_privilege(n.oid, 'usage') and has_function_privilege(p.oid, 'execute')) as may,
       coalesce(pg_has_role(to_regrole(%(role)s::text)::oid, 'member'), false) as member,
       coalesce(pg_has_role(to_regrole(%(role)s::text)::oid, 'usage'), false) as inherits
from pg_namespace n left join pg_proc p on p.pronamespace = n.oid and p.proname = %(function)s
where n.nspname = 'fairlead'
group by n.oid
