-- explain: answer questions about jobs; does nothing under another leader's epoch.
-- locks: the leader's row (for share), explain_requests by id.
-- index: leaders_pkey, explain_requests_pkey
with lead as materialized (
    select %(epoch)s::bigint as epoch where fairlead._leads(%(epoch)s)
)
update fairlead.explain_requests r
set answered_at = clock_timestamp(), answer = a.answer::jsonb
from lead, lateral unnest(%(ids)s::bigint[], %(answers)s::text[]) as a (id, answer)
where r.id = a.id
