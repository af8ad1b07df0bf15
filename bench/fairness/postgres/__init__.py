"""The same traffic on PostgreSQL, under a scheduler and a worker of Fairlead.

In: a server, a trace, slots and edits of the policy. Out: the outcomes of jobs by the
database's clock, and the costs per job.

`fleet` runs the processes and feeds them, `replay` plays a whole trace. `backlogs` makes jobs
by the million inside the server; `costs`, `dispatch_log` and `exposition` measure: CPU and WAL,
the time of each dispatch, the scheduler's counters. Imports `results` and `traffic`. Begin with
`replay.play`.
"""
