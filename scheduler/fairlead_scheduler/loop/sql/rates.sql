-- rates: how much of each rate's windows is used, as of the last dispatch; for a queue that has been in
--        several pools, what each of them dispatched last.
-- locks: none.
-- index: rate_usage_once
select r.queue, r.tenant, r.per_us, r.tat_us from fairlead.rate_usage r where r.pool > ''
