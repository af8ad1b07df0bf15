"""One module for each command or group of commands.

A command parses its arguments, opens a `session`, runs a statement of `sql/` by its name, and
prints rows with `output.tables`, as a table or as JSON.

* In: words of the command line. Out: lines on standard output, and an exit code.
* It may import `doctor`, `output` and `dev`, and rooms inside functions only, so that `--help`
  stays quick. A `CommandError` ends it with exit code 2, a `NegativeAnswer` with 1.
* Each module has `add_to(app)`, or an `app` of its own for a group.

Begin with `queues`, which is short.
"""
