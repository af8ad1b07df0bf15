-- finished: the jobs with these outcomes that finished from %(since)s on and before %(until)s, on the pages
--           of their partition from %(page)s on; for jobs of %(queues)s with the values at %(paths)s of
--           %(roots)s, payload or headers, as `job_attributes` reads them, or null above 2 kB.
-- locks: none.
-- index: none; a partition grows at its end, so its newest pages hold its newest endings.
select h.queue, h.tenant, h.priority::integer as priority,
       fairlead._epoch_us(h.runnable_at) as runnable_us,
       fairlead._epoch_us(h.claimed_at) as claimed_us,
       (extract(epoch from h.finished_at) * 1e6)::bigint as finished_us,
       h.kind,
       case when h.queue = any(%(queues)s::text[])
                 and coalesce(pg_column_size(h.payload), 0) + coalesce(pg_column_size(h.headers), 0) <= 2000
            then array(
                select case when length(v.value) <= 128 then v.value
                            else left(v.value, 64) || '…'
                                 || encode(sha256(convert_to(v.value, 'UTF8')), 'hex') end
                from unnest(%(roots)s::text[], %(paths)s::text[]) with ordinality as a (root, path, place)
                cross join lateral (
                    select case a.root when 'headers' then h.headers else h.payload end
                           #> string_to_array(a.path, '.') as found offset 0) f
                cross join lateral (
                    select case when jsonb_typeof(f.found) in ('string', 'number', 'boolean')
                                then f.found #>> '{}' end as value offset 0) v
                order by a.place) end as values
from fairlead.job_history h
where h.outcome = any(%(outcomes)s) and h.finished_at >= %(since)s and h.finished_at < %(until)s
  and h.ctid >= format('(%%s,0)', %(page)s::bigint)::tid
  and h.claimed_at is not null and h.runnable_at is not null
