-- renumber: number the tags of each pool and band from 0 again whose first unclaimed row, or else whose floor,
--           is at %(large)s or above, in one statement that does nothing under another leader's epoch. Returns
--           these pools and bands, and by how much their tags were lowered. Rows keep their order; those that
--           were below become 0, and those more than %(ahead_max)s above are set back to that. Claimed rows
--           are lowered too: handing a row back never lowers its tag. Of each band it lowers the first
--           %(limit)s rows, because it must end long before the lease; the others stay behind them.
-- locks: the leader's row (for key share), claim_floors, then work_queue rows in claim order (skip locked: a row
--        that is being finished may be locked by an application for long). Floors and rows are lowered
--        together: a claim sees both as they were, and takes no row that has been lowered since, or both as
--        they are.
-- index: leaders_pkey, claim_floors_pkey, work_queue_claim_order, for the first row from the floor on;
--        work_queue_pkey for what is lowered.
with lead as materialized (
    select %(epoch)s::bigint as epoch where fairlead._leads(%(epoch)s)
), grown as materialized (
    select f.pool, f.band, coalesce(u.vtag, f.vtag) as lowered_by
    from fairlead.claim_floors f left join lateral (
        select w.vtag from fairlead.work_queue w
        where w.pool = f.pool and w.band = f.band and w.band >= 0 and w.worker is null
          and w.vtag >= f.vtag
        order by w.vtag, w.job_id limit 1) u on true
    where f.pool > '' and coalesce(u.vtag, f.vtag) >= %(large)s and exists (select from lead)
), floors as (
    update fairlead.claim_floors f set vtag = 0
    from grown g where f.pool = g.pool and f.band = g.band
), held as materialized (
    select q.job_id from grown g cross join lateral (
        select w.job_id from fairlead.work_queue w
        where w.pool = g.pool and w.band = g.band and w.band >= 0
        order by w.vtag, w.job_id limit %(limit)s
        for update skip locked) q
), lowered as (
    update fairlead.work_queue q
    set vtag = least(greatest(greatest(q.vtag, 0) - g.lowered_by, 0), %(ahead_max)s)
    from grown g
    where q.job_id = any (array(select h.job_id from held h)) and g.pool = q.pool and g.band = q.band
)
select g.pool, g.band, g.lowered_by from grown g
