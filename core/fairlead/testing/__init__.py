"""Test an application's jobs: one handler by hand, a whole queue in this process, what waits.

`run` calls one handler and needs no database; a `Rehearsal` records what it reports meanwhile.
`drain` runs what stands in a database, with the statements of a scheduler and a worker, one job
after another, without a process. `enqueued` looks at what waits, inside the test's own
transaction.
"""

from fairlead.testing.drained import Drained, Ended, Outcome
from fairlead.testing.draining import drain
from fairlead.testing.pending import Enqueued, enqueued
from fairlead.testing.rehearsal import Rehearsal, run

__all__ = (
    "Drained",
    "Ended",
    "Enqueued",
    "Outcome",
    "Rehearsal",
    "drain",
    "enqueued",
    "run",
)
