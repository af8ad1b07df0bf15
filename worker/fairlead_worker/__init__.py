"""The worker: claims jobs, runs their handlers and finishes them.

In: settings, signals, an application's handlers, queued rows in PostgreSQL. Out: leases on
those rows, history rows of finished jobs, jobs handed back, the pages of health and metrics.

It imports the core (`fairlead`) and no other service. `parent` and `child` are two processes
and never import each other; what both need stands in `ipc`. Begin at `child.claimer` for the
way of a job, at `parent.supervisor` for the way of a worker. worker/README.md is the map of its
packages.
"""
