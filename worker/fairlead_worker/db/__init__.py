"""The worker's connections: reconnecting with backoff, and calls that always end in time.

In: functions that open a connection, and whether to stop. Out: open connections, rows,
notifications, and one throttled log line while the database does not answer.

`reconnect` yields one connection after another to a thread of the child. `session` is the
parent's connection, whose calls another thread can abort. `backoff` says how long to rest
while something fails. The package imports the core only. Begin
with `reconnect`, then `session`.
"""
