-- explain: answer questions about jobs, and forget up to %(forget_max)s others that are a minute old; does nothing
--          under another leader's epoch.
-- locks: the leader's row (for key share), explain_requests by id (skip locked).
-- index: leaders_pkey, explain_requests_pkey
with lead as materialized (
    select %(epoch)s::bigint as epoch where fairlead._leads(%(epoch)s)
), forgotten as (
    delete from fairlead.explain_requests r
    where r.id = any (array(
        select o.id from fairlead.explain_requests o
        where o.asked_at < clock_timestamp() - interval '1 minute' and o.id <> all (%(ids)s::bigint[])
          and exists (select from lead)
        order by o.id limit %(forget_max)s for update skip locked))
)
update fairlead.explain_requests r
set answered_at = clock_timestamp(), answer = a.answer::jsonb
from lead, lateral unnest(%(ids)s::bigint[], %(answers)s::text[]) as a (id, answer)
where r.id = a.id and r.id = any (array(
    select o.id from fairlead.explain_requests o
    where o.id = any (%(ids)s::bigint[]) and exists (select from lead)
    order by o.id for update skip locked))
