"""The leader's sweeps: promote due jobs, mark dead workers, steal, expire, recall, end pauses.

Each statement is bounded, fenced by the epoch, and skips locked rows; changes reach the loop as
events. Promotion and expiry take jobs in order of time, and lanes take turns as well while one
statement leaves some: else one lane's backlog would delay all others' jobs.
"""

from itertools import repeat
from math import inf
from queue import SimpleQueue
from typing import NamedTuple

from psycopg import Cursor
from psycopg.rows import args_row, scalar_row

from fairlead.db import statements
from fairlead.db.connect import Connection
from fairlead.db.statements import integers
from fairlead.runtime import log
from fairlead.runtime.wakeup import Wakeup
from fairlead_scheduler.leadership.periodic_task import PeriodicTask
from fairlead_scheduler.loop.requests import Requests, take_all
from fairlead_scheduler.metrics.registry import Metrics
from fairlead_scheduler.pending.lane_round import Lane, LaneRound
from fairlead_scheduler.pending.values import PendingJob
from fairlead_scheduler.pending.watermarks import LowWatermark
from fairlead_scheduler.rows import Event, Promoted, Recalled
from fairlead_scheduler.settings import SchedulerSettings

_log = log.get("scheduler")
_PACKAGE = __package__ or ""
_DEATHS_SECONDS = 1.0
_STEAL_SECONDS = 10.0
_STEAL_PAGES = 8192
_TABLE_START = "(0,0)"
_EXPIRE_SECONDS = 1.0
_RECALL_SECONDS = 60.0
_PAUSES_SECONDS = 1.0
_LANES_PER_JOB = 5
"""How many lanes a statement in turns may look at for each job that it may take."""
_PROMOTE_IDLE_SECONDS = 1.0
_IDLE_SECONDS = 4.0
"""With nothing in flight no worker can die with a job, and no expiring job is about to run."""


class DueJobs(NamedTuple):
    """The result of `promote`, by columns; None where nothing was due."""

    now_us: int
    reached_us: int | None
    next_us: int | None
    ids: list[int] | None
    seqs: list[int]
    queues: list[str]
    tenants: list[str]
    ranks: list[int]
    hints_us: list[int | None] | None


class DueOfLanes(NamedTuple):
    """The result of `promote_turns`, by columns; None where nothing was due."""

    ids: list[int] | None
    seqs: list[int]
    queues: list[str]
    tenants: list[str]
    ranks: list[int]
    hints_us: list[int | None] | None
    lanes: int
    next_queue: str | None
    next_tenant: str | None


class ExpiredJobs(NamedTuple):
    """The result of `expire`."""

    now_us: int
    ended: int


class ExpiredOfLanes(NamedTuple):
    """The result of `expire_turns`."""

    ended: int
    lanes: int
    next_queue: str | None
    next_tenant: str | None


class StolenJobs(NamedTuple):
    """The result of `steal`: the jobs it took, and what the next stretch lies behind."""

    ids: list[int]
    queues: list[str]
    kinds: list[str]
    became: list[str]
    behind: str | None


class Sweeps:
    """The sweeps of one term over one session.

    Args:
        steal_pages: How many pages of `work_queue` one statement reads for lost attempts.
    """

    def __init__(
        self,
        connection: Connection,
        settings: SchedulerSettings,
        *,
        epoch: int,
        requests: Requests,
        events: SimpleQueue[Event],
        wakeup: Wakeup,
        metrics: Metrics,
        steal_pages: int = _STEAL_PAGES,
    ) -> None:
        self._connection = connection
        self._settings = settings
        self._epoch = epoch
        self._requests = requests
        self._events = events
        self._wakeup = wakeup
        self._metrics = metrics
        self._due, self._expiry = LowWatermark(), LowWatermark()
        self._due_round: LaneRound | None = None
        self._expiry_round: LaneRound | None = None
        """The rounds over lanes; None while a statement takes all there is."""
        self._next_seconds = inf
        self._steal_pages = steal_pages
        self._stolen_to = _TABLE_START
        self._died = False
        self._promote: Cursor[DueJobs] = connection.cursor(
            binary=True, row_factory=args_row(DueJobs)
        )
        self._promote_turns: Cursor[DueOfLanes] = connection.cursor(
            binary=True, row_factory=args_row(DueOfLanes)
        )
        self._expire: Cursor[ExpiredJobs] = connection.cursor(
            binary=True, row_factory=args_row(ExpiredJobs)
        )
        self._expire_turns: Cursor[ExpiredOfLanes] = connection.cursor(
            binary=True, row_factory=args_row(ExpiredOfLanes)
        )
        self._steal: Cursor[StolenJobs] = connection.cursor(
            binary=True, row_factory=args_row(StolenJobs)
        )
        self._ids: Cursor[int] = connection.cursor(binary=True, row_factory=scalar_row)

    def tasks(self) -> tuple[PeriodicTask, ...]:
        """Return the tasks and their periods; deaths come before the steal."""
        return (
            PeriodicTask("recall", _RECALL_SECONDS, self.recall),
            PeriodicTask(
                "promote", self._settings.promote_seconds, self.promote, rest=self._promote_rest
            ),
            PeriodicTask("mark_dead", _DEATHS_SECONDS, self.mark_dead, rest=self._rest),
            PeriodicTask("steal", _STEAL_SECONDS, self.steal),
            PeriodicTask("expire", _EXPIRE_SECONDS, self.expire, rest=self._rest),
            PeriodicTask("end_pauses", _PAUSES_SECONDS, self.end_pauses, rest=self._rest),
        )

    def promote(self) -> bool:
        """Promote due jobs to pending; the rows become heads of their lanes at once.

        While a batch leaves some, each run takes one batch in turns over lanes and one in order
        of time: the first serves every lane, the second advances the watermark.
        """
        for instant_us in take_all(self._requests.due_us):
            self._due.lower(instant_us)
        limit, from_us = self._settings.sweep_max, self._due.begin()
        if self._due_round is not None:
            self._promote_in_turns(self._due_round, from_us)
        parameters = {"epoch": self._epoch, "from_us": from_us, "limit": limit}
        due = self._promote.execute(statements.load(_PACKAGE, "promote"), parameters).fetchone()
        assert due is not None
        self._next_seconds = inf if due.next_us is None else (due.next_us - due.now_us) / 1e6
        full = len(due.ids or ()) >= limit
        self._due.record_scan(from_us, due.now_us, reached_us=due.reached_us if full else None)
        self._due_round = self._round(self._due_round, full=full)
        self._requests.promoted_us = self._due.reached_us
        self._post_promoted(due)
        return full

    def _promote_in_turns(self, lanes: LaneRound, from_us: int) -> None:
        parameters = {"from_us": from_us, **self._turns(lanes)}
        due = self._promote_turns.execute(
            statements.load(_PACKAGE, "promote_turns"), parameters
        ).fetchone()
        assert due is not None
        lanes.record(due.lanes, _lane(due))
        self._post_promoted(due)

    def _post_promoted(self, due: DueJobs | DueOfLanes) -> None:
        if due.ids is not None:
            columns = (due.ids, due.seqs, due.queues, due.tenants, due.ranks)
            hints = due.hints_us or repeat(None)
            self._post(Promoted(tuple(map(PendingJob, *columns, hints, repeat(None)))))
            self._metrics.queues.count_runnable(due.queues)
            self._metrics.promote_batch.observe(len(due.ids))

    def recall(self) -> bool:
        """Recall the unclaimed rows that the loop requested, such as those of paused lanes."""
        wanted = [job_id for ids in take_all(self._requests.recalls) for job_id in ids]
        for start in range(0, len(wanted), self._settings.sweep_max):
            ids = integers(sorted(wanted[start : start + self._settings.sweep_max]))
            parameters = {"epoch": self._epoch, "ids": ids}
            recalled = self._ids.execute(
                statements.load(_PACKAGE, "recall"), parameters
            ).fetchall()
            if recalled:
                self._post(Recalled(tuple(recalled)))
        return False

    def mark_dead(self) -> bool:
        """Mark workers whose lease lapsed as dead; their attempts are stolen next."""
        parameters = {
            "epoch": self._epoch,
            "worker_lease_seconds": self._settings.worker_lease_seconds,
            "limit": self._settings.sweep_max,
        }
        rows = self._connection.execute(
            statements.load(_PACKAGE, "mark_dead"), parameters
        ).fetchall()
        for row in rows:
            _log.warning("worker.lost", worker=row[0], name=row[1])
        if rows:
            self._died = True
            self._requests.steal()
        return len(rows) >= self._settings.sweep_max

    def steal(self) -> bool:
        """Take back attempts of dead workers: at once after a death, and slowly all the time.

        A round reads all of `work_queue`, a stretch of pages at a time, and a term's first one
        begins at once. After a death the task runs on until a round that began after it ends.
        """
        if self._stolen_to == _TABLE_START:
            self._died = False
        parameters = {
            "epoch": self._epoch,
            "after": self._stolen_to,
            "pages": self._steal_pages,
            "overdue_seconds": self._settings.overdue_seconds,
            "limit": self._settings.sweep_max,
        }
        stolen = self._steal.execute(statements.load(_PACKAGE, "steal"), parameters).fetchone()
        assert stolen is not None
        self._stolen_to = stolen.behind or _TABLE_START
        if stolen.ids:
            _log.warning("jobs.stolen", count=len(stolen.ids))
            self._metrics.rescued.inc(len(stolen.ids))
            self._metrics.endings.count_stolen(stolen.queues, stolen.kinds, stolen.became)
        return stolen.behind is not None or self._died

    def expire(self) -> bool:
        """End jobs that expired before they started, lanes in turns as in `promote`."""
        limit, from_us = self._settings.sweep_max, self._expiry.begin()
        if self._expiry_round is not None:
            turn = self._expire_turns.execute(
                statements.load(_PACKAGE, "expire_turns"), self._turns(self._expiry_round)
            ).fetchone()
            assert turn is not None
            self._expiry_round.record(turn.lanes, _lane(turn))
        parameters = {"epoch": self._epoch, "from_us": from_us, "limit": limit}
        row = self._expire.execute(statements.load(_PACKAGE, "expire"), parameters).fetchone()
        assert row is not None
        full = row.ended >= limit
        self._expiry.record_scan(from_us, row.now_us, reached_us=from_us if full else None)
        self._expiry_round = self._round(self._expiry_round, full=full)
        return full

    def end_pauses(self) -> bool:
        """End pauses whose end has come: the next tick no longer reads them."""
        limit = self._settings.sweep_max
        parameters = {"epoch": self._epoch, "limit": limit}
        statement = statements.load(_PACKAGE, "end_pauses")
        (ended,) = self._ids.execute(statement, parameters).fetchall()
        if ended:
            _log.info("pauses.ended", count=ended)
        return ended >= limit

    def _turns(self, lanes: LaneRound) -> dict[str, object]:
        (after_queue, after_tenant), lane_jobs = lanes.turns
        return {
            "epoch": self._epoch,
            "after_queue": after_queue,
            "after_tenant": after_tenant,
            "lanes": _LANES_PER_JOB * self._settings.sweep_max,
            "lane_jobs": lane_jobs,
            "limit": self._settings.sweep_max,
        }

    def _round(self, current: LaneRound | None, *, full: bool) -> LaneRound | None:
        """Return the round to go on with; None once a batch in order of time takes all."""
        return (current or LaneRound(self._settings.sweep_max)) if full else None

    def _rest(self, every_seconds: float) -> float:
        return _IDLE_SECONDS if self._requests.idle else every_seconds

    def _promote_rest(self, every_seconds: float) -> float:
        """Rest longer while the scheduler is idle and nothing is about to fall due."""
        if not self._requests.idle:
            return every_seconds
        return max(every_seconds, min(_PROMOTE_IDLE_SECONDS, self._next_seconds))

    def _post(self, item: Event) -> None:
        self._events.put(item)
        self._wakeup.wake()


def _lane(turn: DueOfLanes | ExpiredOfLanes) -> Lane | None:
    """Return the last lane that had its turn; None if it was the last of all."""
    if turn.next_queue is None or turn.next_tenant is None:
        return None
    return turn.next_queue, turn.next_tenant
