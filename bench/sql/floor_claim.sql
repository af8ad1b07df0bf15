-- floor_claim: lease up to %(limit)s unclaimed rows and return their jobs.
-- locks: floor_work_queue in claim order (skip locked).
-- index: floor_claim_order, floor_jobs_pkey
with picked as materialized (
    select job_id from floor_work_queue
    where worker is null order by vtag, job_id limit %(limit)s
    for update skip locked
), leased as (
    update floor_work_queue as w
    set worker = 1, token = nextval('floor_token'), claimed_at = now(), deadline = now() + interval '10 min'
    where w.job_id = any (array(select job_id from picked))
    returning w.job_id, w.token
)
select leased.job_id, leased.token, job.payload from leased
cross join lateral (
    select payload from floor_jobs where id = leased.job_id offset 0
) as job
