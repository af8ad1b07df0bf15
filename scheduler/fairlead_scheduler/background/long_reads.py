"""Long reads: the scan of all lanes, the audit of `work_queue`, and the queues' gauges.

They lock nothing, so a statement may take longer than the lease; their share of the time is
bounded.
"""

from collections.abc import Mapping
from math import inf
from queue import SimpleQueue
from time import monotonic
from typing import NamedTuple

from psycopg import Cursor
from psycopg.rows import args_row

from fairlead.db import statements
from fairlead.db.connect import Connection
from fairlead.runtime.wakeup import Wakeup
from fairlead_scheduler.leadership.periodic_task import PeriodicTask
from fairlead_scheduler.loop.store import read_lanes, read_queued
from fairlead_scheduler.metrics.registry import STATES, Metrics, QueueMeasurement
from fairlead_scheduler.rows import Audited, Event, LanesScanned
from fairlead_scheduler.settings import SchedulerSettings

_PACKAGE = __package__ or ""
_GAUGES_SECONDS = 5.0
_DEAD_SECONDS = 60.0
_DUTY = 0.05


class QueueGauges(NamedTuple):
    """A row of `gauges`: one queue."""

    queue: str
    pending: int
    queued: int
    running: int
    scheduled: int
    due_in_minute: int
    due_in_ten: int
    due_in_hour: int
    oldest_us: int | None
    now_us: int


class LongReads:
    """The long reads of one term over one session."""

    def __init__(
        self,
        connection: Connection,
        settings: SchedulerSettings,
        *,
        events: SimpleQueue[Event],
        wakeup: Wakeup,
        metrics: Metrics,
    ) -> None:
        self._connection = connection
        self._settings = settings
        self._events = events
        self._wakeup = wakeup
        self._metrics = metrics
        self._gauges: Cursor[QueueGauges] = connection.cursor(
            binary=True, row_factory=args_row(QueueGauges)
        )
        self._waits_us: dict[str, int] = {}

    def tasks(self) -> tuple[PeriodicTask, ...]:
        """Return the tasks and their periods; the loop requests audits."""
        return (
            PeriodicTask("audit", inf, self.audit, at_once=False),
            PeriodicTask(
                "scan_lanes", self._settings.scan_seconds, self.scan_lanes, _DUTY, at_once=False
            ),
            PeriodicTask("gauges", _GAUGES_SECONDS, self.measure_queues, _DUTY),
            PeriodicTask("dead_jobs", _DEAD_SECONDS, self.count_dead_jobs, _DUTY),
        )

    def scan_lanes(self) -> bool:
        """Scan the first and last pending job of every stream, to find what was missed."""
        lanes = read_lanes(self._connection)
        self._waits_us = lanes.waits_us()
        self._post(LanesScanned(lanes))
        return False

    def audit(self) -> bool:
        """Read all of `work_queue`, to reconcile the ledger with it."""
        self._post(Audited(read_queued(self._connection)))
        return False

    def measure_queues(self) -> bool:
        """Measure the queues."""
        began = monotonic()
        rows = self._gauges.execute(statements.load(_PACKAGE, "gauges")).fetchall()
        self._metrics.queues.show(
            (measure_queue(row, self._waits_us) for row in rows),
            took_seconds=monotonic() - began,
        )
        return False

    def count_dead_jobs(self) -> bool:
        """Count the jobs that failed for good, by queue."""
        rows = self._connection.execute(statements.load(_PACKAGE, "dead_jobs")).fetchall()
        self._metrics.queues.show_dead({str(queue): int(str(dead)) for queue, dead in rows})
        return False

    def _post(self, item: Event) -> None:
        self._events.put(item)
        self._wakeup.wake()


def measure_queue(row: QueueGauges, waits_us: Mapping[str, int]) -> QueueMeasurement:
    """Return the measurement of a queue.

    The oldest wait of the last scan is not aged: that job may have been dispatched since, and
    the jobs that wait now are younger.

    Args:
        row: What was read.
        waits_us: For how long the oldest pending job of each queue had waited at that scan.
    """
    pending_us = waits_us.get(row.queue, 0) if row.pending else 0
    queued_us = 0 if row.oldest_us is None else row.now_us - row.oldest_us
    states = (row.pending, row.queued, row.running, row.scheduled)
    return QueueMeasurement(
        row.queue,
        dict(zip(STATES, states, strict=True)),
        max(0, pending_us, queued_us) / 1e6,
        (row.due_in_minute, row.due_in_ten, row.due_in_hour),
    )
