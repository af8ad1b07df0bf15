"""Leader election by a Kubernetes Lease: the rules, without threads, clocks or I/O.

In go what a candidate knows (`Election`), the records it reads and writes (`Lease`) and times
of its own monotonic clock. Out come what to do next (`next_step`) and the record to write. The
thread that calls the API server by these rules is `controller.lease_thread`. This package
imports nothing of the project.

A candidate *acquires* the Lease, *renews* it, *releases* it in order, or *loses* it. Begin at
`elector.next_step`.
"""
