"""The child process: claims jobs, runs their handlers, and finishes the jobs.

In: messages from the parent (`ipc.messages`), rows that claims return, what handlers return,
raise and report. Out: claims, stored endings, messages to the parent, and the attempt table,
which the parent reads even when this process is dead.

An attempt passes claimer -> intake -> slots -> executor -> finisher -> ending_writer. `slots`
has it from its claim until its ending is stored. Three threads move attempts without a lock:
the claimer's, the event loop's (the main thread) and the finisher's; plain functions run in
more.

The package imports `attempts`, `db`, `ipc`, `isolated`, `metrics` and `tracing`, and never
`parent`. Begin with `claimer`, `executor` and `finisher`; `child_main` wires them together.
"""
