"""The reconcile loop's body: observe, decide, act, publish, once per tick for all pools.

In come the port to Kubernetes, one database session, the leadership and the options. Out go
drain marks and decisions in the database, `replicas`, events and the status ConfigMap on
Kubernetes, log lines and metrics. It may import every other package of the room, except `main`
and `service`.

Begin at `controller.Controller.step`. `observer` reads (`database_snapshot`, the watches,
`policy_sync`), `pool_inputs` and `budget` make each pool's inputs, `decision.decide` decides,
`actor` writes marks and `replicas`, `publisher` reports. `lease_thread` holds the Lease in a
thread of its own; `database` is the only module that runs SQL.
"""
