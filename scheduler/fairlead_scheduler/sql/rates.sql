-- rates: what is used of the rates of one pool, as the last dispatch left it.
-- locks: none.
-- index: rate_usage_once
select r.queue, r.tenant, r.per_us, r.tat_us from fairlead.rate_usage r where r.pool = %(pool)s
