"""What people look at: jobs, the fleet and the doctor's findings, as rows and values.

The command line prints it and the console draws it, so that both say the same by the same
statements. A function reads one thing through a session of any login and changes nothing; one
statement is one file of `sql`, bounded, with an index.

* `jobs`: one job, its attempts, why it waits; the newest jobs that pass a filter.
* `fleet`: queues, workers, tenants and their shares, pools, counters, the pods of pools.
* `policy_names`: what a policy says of queues and tenants that nobody has; `policy_source`:
  where it is edited.
* `doctor`: what is wrong with the fleet, or with how it is set up.
* `formats` and `error_chain`, which are pure, say values in words and read errors' texts.
* `clamped` reads values of the database that Python has no type for.

It may import `fairlead.db`, the policy and settings; no service. Begin with `jobs`.
"""
