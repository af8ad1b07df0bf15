-- trace: the jobs that ended within %(within)s, as traffic: when each could run, counted from the first,
--        its tenant, how long it had a slot in the attempt that ended it, its kind, and what %(paths)s of
--        %(roots)s, payload or headers, lead to, as `job_attributes` reads it. Left out is what began at no time,
--        as only a superuser can store it.
-- locks: none
-- index: none; the history of these days is read whole.
select ((extract(epoch from h.runnable_at) - min(extract(epoch from h.runnable_at)) over ()) * 1e6)::bigint
           as at_us,
       h.queue, h.tenant,
       greatest(1, (extract(epoch from h.finished_at - h.claimed_at) * 1e6)::bigint) as cost_us,
       h.priority, h.kind,
       array(
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
           order by a.place) as values
from fairlead.job_history h
where h.finished_at >= now() - %(within)s::interval and isfinite(h.claimed_at) and isfinite(h.runnable_at)
  and (%(queue)s::text is null or h.queue = %(queue)s)
order by h.runnable_at, h.id
