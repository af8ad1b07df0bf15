"""Test an application's jobs: run one handler, run whole queues, or look at what is enqueued.

`run` calls one handler without a database; an `AttemptRecorder` records what the handler
reports. `drain` runs the due jobs of a database one after another in the test's own process,
with the statements of the scheduler and the worker, and returns how each attempt ended.
`enqueued` returns the jobs that wait, inside the test's own transaction.

The package stands above the services: `drain` imports the worker's attempts and runs the
scheduler's and the worker's statements, and nothing else of core may import this package.
Begin with `handler_run` and `draining`; `drain_loop` and `drain_store` do the work of a drain.
"""

from fairlead.testing.drain_result import Drained, Ended, Outcome
from fairlead.testing.draining import drain
from fairlead.testing.handler_run import AttemptRecorder, run
from fairlead.testing.pending import Enqueued, enqueued

__all__ = (
    "AttemptRecorder",
    "Drained",
    "Ended",
    "Enqueued",
    "Outcome",
    "drain",
    "enqueued",
    "run",
)
