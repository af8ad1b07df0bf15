"""`make observe`: a fleet with work that does not end, and a Prometheus that scrapes it.

Everything runs on this machine: PostgreSQL, schedulers, an autoscaler with its workers, and
what inserts jobs, each a process with a `/metrics` page on a loopback port. The tests of
dashboards, alerts and runbooks run the same fleet.
"""
