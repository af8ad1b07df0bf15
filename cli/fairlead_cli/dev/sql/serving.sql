-- serving: the pods of a pool whose worker is there and not empty under a mark, and the jobs that each holds.
-- locks: none
-- index: none, there are few workers
select w.pod_uid, sum(w.running) from fairlead.workers w
where w.pool = %(pool)s and w.pod_uid is not null and w.state = 'live' and w.drained_at is null
group by w.pod_uid
