-- renew: prolong a worker's lease, if its row still lives, say how many slots it has now, and answer
--        which of the attempts that it runs somebody asked to cancel. No row: it is dead, and what
--        it held may run elsewhere. It does not wait for the disk: what a crash of the server forgets
--        harms nobody, for no lease lapses until one lease after the server's start.
-- locks: the worker's own row.
-- index: worker_leases_pkey, jobs_pkey
with me as (
    update fairlead.worker_leases w
    set lease_until = now() + interval '1 second' * %(lease_seconds)s, slots = %(slots)s
    where w.id = %(worker)s and w.dead_at is null
    returning w.id, set_config('synchronous_commit', 'off', true)
)
select array(
    select a.token
    from unnest(%(ids)s::bigint[], %(tokens)s::bigint[]) as a (job_id, token)
    cross join lateral (
        select from fairlead.jobs j
        where j.id = a.job_id and j.cancel_requested_at is not null offset 0) c) as cancelled
from me
