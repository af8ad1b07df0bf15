-- refill: the next jobs of each stream behind its cursor, by their places, as arrays per stream.
-- locks: none.
-- index: jobs_lane
select s.place, h.ids, h.seqs, h.hints_us
from unnest(%(queues)s::text[], %(tenants)s::text[], %(ranks)s::smallint[], %(from_seqs)s::bigint[],
            %(counts)s::bigint[])
    with ordinality as s (queue, tenant, rank, from_seq, count, place)
cross join lateral (
    select array_agg(n.id) as ids, array_agg(n.seq) as seqs,
           case when count(n.cost_hint) > 0
                then array_agg(fairlead._span_us(n.cost_hint)) end as hints_us
    from (
        select j.id, j.seq, j.cost_hint from fairlead.jobs j
        where j.run_at is null and j.queue = s.queue and j.tenant = s.tenant and j.rank = s.rank
          and j.seq >= s.from_seq
        order by j.seq limit s.count) n) h
