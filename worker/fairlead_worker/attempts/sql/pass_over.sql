-- pass_over: tell the leader which queued rows a claim has just passed over, because the worker has no room for
--            their kinds: at most %(limit)s. A repeat tells it again, which changes nothing.
-- locks: none.
-- index: claim_floors_pkey, work_queue_claim_order, jobs_pkey
insert into fairlead.receipts (worker, passed_over)
select %(worker)s, array_agg(p.job_id)
from (
    select q.job_id
    from fairlead.claim_floors f cross join lateral (
        select w.job_id from fairlead.work_queue w
        where w.pool = %(pool)s and w.band = f.band and w.band >= 0 and w.worker is null
          and w.vtag >= f.vtag
          and (select j.kind from fairlead.jobs j where j.id = w.job_id)
              = any (%(full_kinds)s::text[])
        order by w.vtag, w.job_id limit %(limit)s) q
    where f.pool = %(pool)s
    limit %(limit)s) p
having count(*) > 0
