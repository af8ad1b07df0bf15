-- new_batch: insert a batch from one JSON object, in the caller's transaction; what comes back is its id.
-- locks: none of others' rows.
-- index: batches_unfinished_of, inside the trigger.
insert into fairlead.batches (tenant, queue, kind, payload, priority, max_attempts, timeout, headers)
select b.tenant, b.queue, b.kind, b.payload, b.priority, b.max_attempts, b.timeout, b.headers
from json_to_record(%s::json) as b (
    tenant text, queue text, kind text, payload jsonb, priority smallint, max_attempts integer, timeout interval,
    headers jsonb)
returning id
