"""Processes for handlers with `process=True`: one attempt at a time each.

In: an attempt and its handler's name. Out: the attempt's ending, and what the handler reports
while it runs.

`process_runner` is the child's side: it starts such processes, uses them again, and kills one
whose handler does not stop. `process_main` is the program that runs in them. They exchange JSON
lines over a socket pair; the end of the socket ends the process. The package imports
`attempts`, `ipc` and `tracing`. Begin with `process_runner.ProcessRunner.run`.
"""
