-- drained: store that a marked pod holds nothing, if that is so; no row: it is not so, or the mark has lapsed.
--          The function says why no claim of its workers can be added any more.
-- locks: the pod's pod_drains row (skip locked): a login may hold any.
-- index: worker_leases_pkey, worker_leases_live, pod_drains_pkey; work_queue_pkey, whole: the queue is
--        shallow, and this is asked when the worker itself knows of nothing, inside the function.
select d.drained_at from fairlead.say_drained(%(worker)s) as d (drained_at)
