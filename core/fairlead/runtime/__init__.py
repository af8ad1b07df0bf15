"""Parts of a process that every service needs around its loops.

`log` configures structured logs, and `log_throttle` decides when to repeat a line; `health`
serves `/livez`, `/readyz` and `/metrics`; `wakeup` ends a rest in select from another thread or
a signal handler; `parent_death` ends a child with its parent, and `forked_copy` a copy of one;
`bounded_process` keeps one that calculates from taking much;
`arguments` parses a program's command line. `fairlead.service` puts them together.

The package imports structlog and prometheus_client, of core only `tracecontext`, and nothing
of the database. Begin with `log` and `health`.
"""
