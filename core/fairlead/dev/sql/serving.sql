-- serving: the pods of a pool whose worker is there and not empty under a mark.
-- locks: none
-- index: none, there are few workers
select w.pod_uid from fairlead.workers w
where w.pool = %(pool)s and w.pod_uid is not null and w.state = 'live' and w.drained_at is null
