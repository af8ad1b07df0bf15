"""`fairlead dev`: the whole fleet as processes of one machine over an embedded PostgreSQL.

* In: the application's name and options. Out: the programs' log lines, until Ctrl-C.
* `project` says where a project's data is, `own_database` whether the environment names another
  database instead; `psql` and `reset` are commands on either.
* `postgres` runs the server, with `binaries`, `data_folder`, `account` and `ports`; tests and
  benchmarks use it, too. `fleet` starts the programs and restarts those that die.
* `ending` stops the fleet, and says what is waited for.
* `scaling`, `local_pods` and `worker_count` scale the workers with the autoscaler's controller.
* `reload` starts the workers anew at every save of a Python file.
* `policy_file` stores the policy at every save. `bound_module` and `bound_program` let a
  program die with the process that started it.
* It may import every room; only commands, tests, examples and benchmarks import it.

Begin with `command`, then `running`, then `fleet`.
"""
