"""Periodic tasks that the leader runs next to its loop, on threads of their own.

In: sessions, the epoch, the loop's `Requests`, settings. Out: changes in the database, all
fenced by the epoch; events for the loop; metrics.

`periodic` runs tasks on threads. `sweeps` promotes, steals, expires, recalls; `long_reads`
scans all lanes, audits `work_queue` and measures queues; `policy_watch` and `refusal_watch`
follow the stored policies; `demand_store` and `report_store` publish; `batches` completes
batches; `retention` deletes what is old; `database_health` and `xid_age` measure the server.

It imports `loop.requests`, `loop.store`, `leadership`, `metrics` and the pure packages, and
never the loop itself. Begin with `periodic`, then `sweeps`.
"""
