"""Long reads beside the loop: the lanes, all of `work_queue`, the gauges of the queues.

They lock nothing, so their session may take longer than the lease; how much of the time they
take is bounded.
"""

from collections.abc import Mapping
from math import inf
from queue import SimpleQueue
from time import monotonic
from typing import NamedTuple

from psycopg import Cursor
from psycopg.rows import args_row

from fairlead import sql
from fairlead.bell import Bell
from fairlead.store import Connection
from fairlead_scheduler.chores import Chore
from fairlead_scheduler.metrics import STATES, Measured, Metrics
from fairlead_scheduler.settings import SchedulerSettings
from fairlead_scheduler.store import read_lanes, read_queued
from fairlead_scheduler.views import Audited, News, Surveyed

_PACKAGE = __package__ or ""
_GAUGES_SECONDS = 5.0
_DEAD_SECONDS = 60.0
_DUTY = 0.05


class QueueGauges(NamedTuple):
    """What `gauges` answers about one queue."""

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


class Surveys:
    """The long reads of one term over one session."""

    def __init__(
        self,
        connection: Connection,
        settings: SchedulerSettings,
        *,
        news: SimpleQueue[News],
        bell: Bell,
        metrics: Metrics,
    ) -> None:
        self._connection = connection
        self._settings = settings
        self._news = news
        self._bell = bell
        self._metrics = metrics
        self._gauges: Cursor[QueueGauges] = connection.cursor(
            binary=True, row_factory=args_row(QueueGauges)
        )
        self._waits_us: dict[str, int] = {}

    def chores(self) -> tuple[Chore, ...]:
        """Return what to do and how often; an audit is asked for by the loop."""
        return (
            Chore("audit", inf, self.audit, at_once=False),
            Chore("survey", self._settings.survey_seconds, self.survey, _DUTY, at_once=False),
            Chore("gauges", _GAUGES_SECONDS, self.gauges, _DUTY),
            Chore("dead_jobs", _DEAD_SECONDS, self.dead_jobs, _DUTY),
        )

    def survey(self) -> bool:
        """Find the first pending job of every lane, whoever has missed it."""
        lanes = read_lanes(self._connection)
        self._waits_us = lanes.waits_us()
        self._tell(Surveyed(lanes))
        return False

    def audit(self) -> bool:
        """Read all of `work_queue`, to be compared with the books."""
        self._tell(Audited(read_queued(self._connection)))
        return False

    def gauges(self) -> bool:
        """Measure the queues."""
        began = monotonic()
        rows = self._gauges.execute(sql.load(_PACKAGE, "gauges")).fetchall()
        self._metrics.queues.show(
            (measured(row, self._waits_us) for row in rows), took_seconds=monotonic() - began
        )
        return False

    def dead_jobs(self) -> bool:
        """Count the jobs that failed for good, by queue."""
        rows = self._connection.execute(sql.load(_PACKAGE, "dead_jobs")).fetchall()
        self._metrics.queues.dead({str(queue): int(str(dead)) for queue, dead in rows})
        return False

    def _tell(self, item: News) -> None:
        self._news.put(item)
        self._bell.ring()


def measured(row: QueueGauges, waits_us: Mapping[str, int]) -> Measured:
    """Return what is shown of a queue.

    What the last survey found is as old as it was then: it may have gone since, and others of
    the queue wait, which are younger.

    Args:
        row: What was measured.
        waits_us: For how long the oldest pending job of each queue had waited at that survey.
    """
    pending_us = waits_us.get(row.queue, 0) if row.pending else 0
    queued_us = 0 if row.oldest_us is None else row.now_us - row.oldest_us
    states = (row.pending, row.queued, row.running, row.scheduled)
    return Measured(
        row.queue,
        dict(zip(STATES, states, strict=True)),
        max(0, pending_us, queued_us) / 1e6,
        (row.due_in_minute, row.due_in_ten, row.due_in_hour),
    )
