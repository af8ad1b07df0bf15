"""`make observe`: a fleet with endless work, and a Prometheus that scrapes it.

Everything runs on this machine: PostgreSQL, schedulers, an autoscaler that owns the workers
(`pods`), and a program that inserts jobs (`load`), each a process with a `/metrics` page on a
loopback port. `fleet` starts them all, `__main__` is the command. The tests of dashboards,
alerts and runbooks run the same fleet.
"""
