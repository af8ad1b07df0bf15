-- may_store_policy: whether this session's login may act as a role that stores policies.
-- locks: none
-- index: none; pg_roles is small.
select exists (
    select from pg_roles r
    where r.rolname = %(role)s and pg_has_role(session_user, r.oid, 'member')) as may
