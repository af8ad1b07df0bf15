-- job_attributes: the attributes of jobs that concurrency keys and rules need, as one array of texts in the
--                 order of the request; null for a missing one. A text longer than 128 characters is cut and
--                 ends with its digest. The root `job` stands for the facts that rules use, in one text, the
--                 kind last. The array ends early once the stored documents before an attribute exceed
--                 %(bytes_max)s bytes, but not among the first %(least)s.
-- locks: none.
-- index: jobs_pkey
select array_agg(case when length(v.value) <= 128 or v.root = 'job' then v.value
                      else left(v.value, 64) || '…' || encode(sha256(convert_to(v.value, 'UTF8')), 'hex')
                 end) as texts
from (
    select r.root, case when jsonb_typeof(r.found) in ('string', 'number', 'boolean')
                        then r.found #>> '{}' end as value
    from (
        select s.root, s.document #> string_to_array(s.path, '.') as found
        from (
            select a.root, a.path, a.place, d.document,
                   coalesce(sum(d.bytes) over (rows between unbounded preceding and 1 preceding), 0)
                       as before
            from unnest(%(ids)s::bigint[], %(roots)s::text[], %(paths)s::text[])
                with ordinality as a (id, root, path, place)
            left join lateral (
                select k.document, pg_column_size(k.document) as bytes
                from (select case a.root
                                 when 'headers' then j.headers
                                 when 'job' then jsonb_build_object('facts', concat_ws(
                                     ' ', j.priority, j.attempts,
                                     fairlead._epoch_us(coalesce(j.due_at, j.created_at)),
                                     coalesce(fairlead._epoch_us(j.expires_at)::text, '-'),
                                     j.kind))
                                 else j.payload end as document
                      from fairlead.jobs j where j.id = a.id offset 0) k) d on true
            offset 0) s
        where s.before < %(bytes_max)s or s.place <= %(least)s
        offset 0) r
    offset 0) v
