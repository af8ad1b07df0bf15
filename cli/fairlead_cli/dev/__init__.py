"""`fairlead dev`: the whole fleet as processes of one machine over an embedded PostgreSQL.

* In: the application's name and options. Out: the programs' log lines, until Ctrl-C.
* `postgres` runs the server, with `binaries`, `data_folder`, `account` and `ports`; tests and
  benchmarks use it, too. `fleet` starts the programs and restarts those that die.
* `scaling`, `local_pods` and `worker_count` scale the workers with the autoscaler's controller.
* `policy_file` stores the policy at every save. `bound_module` and `bound_program` let a
  program die with the process that started it.
* It may import every room; only commands, tests, examples and benchmarks import it.

Begin with `command`, then `fleet`.
"""
