-- receipts: take the receipts of claims and endings above the low-water mark; does nothing under another
--           leader's epoch, and locks nothing when there are none.
-- locks: the leader's row (for key share), receipts by id (skip locked).
-- index: receipts_pkey, leaders_pkey
with lead as materialized (
    select where case when exists (select from fairlead.receipts r where r.id > %(after_id)s)
                      then fairlead._leads(%(epoch)s) end
)
delete from fairlead.receipts r
where r.id = any (array(
    select t.id from fairlead.receipts t
    where t.id > %(after_id)s and exists (select from lead)
    order by t.id limit %(limit)s
    for update skip locked))
returning r.id, (extract(epoch from r.at) * 1e6)::bigint as at_us, r.worker, r.claimed, r.ended,
          r.run_us, r.returned, r.queues, r.kinds, r.outcomes, r.passed_over,
          r.evicted, r.moved
