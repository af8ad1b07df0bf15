"""The parent of one worker: holds the lease, supervises the children, runs no application code.

In: the checked settings (`config`), signals, messages from the children (`ipc.messages`), the
attempt tables they share (`ipc.attempt_table`), answers of the database. Out: the worker's row
in `worker_leases` and its renewals, child processes, interrupted attempts handed back, the page
`/metrics`, an exit code.

One loop does everything without waiting for the database; `lease_thread` alone talks to it. The
package imports `config`, `db`, `ipc` and `metrics`, and never `child`, pydantic or the
application.

Begin with `supervisor`, then `lease_thread`, then `reaper` for what follows a child's death.
docs/explanation/worker-leases.md explains the lease and the fencing token.
"""
