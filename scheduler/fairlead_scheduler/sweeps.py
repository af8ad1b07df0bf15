"""The leader's sweeps: what fell due, who died, what expired, what is to be recalled.

Each statement is bounded, fenced by the epoch, and skips what somebody else has locked; what
was changed is told to the loop.
"""

from itertools import repeat
from math import inf
from queue import SimpleQueue
from typing import NamedTuple

from psycopg import Cursor
from psycopg.rows import args_row, scalar_row

from fairlead import log, sql
from fairlead.bell import Bell
from fairlead.sql import integers
from fairlead.store import Connection
from fairlead_scheduler.calls import Requests, drain
from fairlead_scheduler.chores import Chore
from fairlead_scheduler.marks import LowWater
from fairlead_scheduler.metrics import Metrics
from fairlead_scheduler.settings import SchedulerSettings
from fairlead_scheduler.values import Found
from fairlead_scheduler.views import News, Promoted, Recalled

_log = log.get("scheduler")
_PACKAGE = __package__ or ""
_DEATHS_SECONDS = 1.0
_STEAL_SECONDS = 10.0
_STEAL_PAGES = 8192
_TABLE_START = "(0,0)"
_EXPIRE_SECONDS = 1.0
_RECALL_SECONDS = 60.0
_PROMOTE_IDLE_SECONDS = 1.0
_IDLE_SECONDS = 4.0
"""With nothing in flight nobody dies under a job, and what expires is not about to start."""


class Due(NamedTuple):
    """What `promote` answers, by columns; None where nothing was due."""

    now_us: int
    reached_us: int | None
    next_us: int | None
    ids: list[int] | None
    seqs: list[int]
    queues: list[str]
    tenants: list[str]
    ranks: list[int]
    hints_us: list[int | None] | None


class Expired(NamedTuple):
    """What `expire` answers."""

    now_us: int
    ended: int


class Stolen(NamedTuple):
    """What `steal` answers: what it took, and what the next stretch lies behind."""

    ids: list[int]
    queues: list[str]
    kinds: list[str]
    became: list[str]
    behind: str | None


class Sweeps:
    """The sweeps of one term over one session.

    Args:
        steal_pages: how many pages of `work_queue` one look for lost attempts reads.
    """

    def __init__(
        self,
        connection: Connection,
        settings: SchedulerSettings,
        *,
        epoch: int,
        requests: Requests,
        news: SimpleQueue[News],
        bell: Bell,
        metrics: Metrics,
        steal_pages: int = _STEAL_PAGES,
    ) -> None:
        self._connection = connection
        self._settings = settings
        self._epoch = epoch
        self._requests = requests
        self._news = news
        self._bell = bell
        self._metrics = metrics
        self._due, self._expiry = LowWater(), LowWater()
        self._next_seconds = inf
        self._steal_pages = steal_pages
        self._stolen_to = _TABLE_START
        self._died = False
        self._promote: Cursor[Due] = connection.cursor(binary=True, row_factory=args_row(Due))
        self._expire: Cursor[Expired] = connection.cursor(
            binary=True, row_factory=args_row(Expired)
        )
        self._steal: Cursor[Stolen] = connection.cursor(
            binary=True, row_factory=args_row(Stolen)
        )
        self._ids: Cursor[int] = connection.cursor(binary=True, row_factory=scalar_row)

    def chores(self) -> tuple[Chore, ...]:
        """Return what to do and how often; deaths come before what the dead held."""
        return (
            Chore("recall", _RECALL_SECONDS, self.recall),
            Chore(
                "promote", self._settings.promote_seconds, self.promote, rest=self._promote_rest
            ),
            Chore("mark_dead", _DEATHS_SECONDS, self.mark_dead, rest=self._rest),
            Chore("steal", _STEAL_SECONDS, self.steal),
            Chore("expire", _EXPIRE_SECONDS, self.expire, rest=self._rest),
        )

    def promote(self) -> bool:
        """Make pending what fell due; the rows are heads of their lanes at once."""
        for instant_us in drain(self._requests.due_us):
            self._due.lower(instant_us)
        limit, from_us = self._settings.sweep_max, self._due.begin()
        parameters = {"epoch": self._epoch, "from_us": from_us, "limit": limit}
        due = self._promote.execute(sql.load(_PACKAGE, "promote"), parameters).fetchone()
        assert due is not None
        self._next_seconds = inf if due.next_us is None else (due.next_us - due.now_us) / 1e6
        count = len(due.ids or ())
        full = count >= limit
        self._due.looked(from_us, due.now_us, reached_us=due.reached_us if full else None)
        self._requests.promoted_us = self._due.reached_us
        if due.ids is not None:
            columns = (due.ids, due.seqs, due.queues, due.tenants, due.ranks)
            hints = due.hints_us or repeat(None)
            self._tell(Promoted(tuple(map(Found, *columns, hints, repeat(None)))))
            self._metrics.queues.runnable(due.queues)
            self._metrics.promote_batch.observe(count)
        return full

    def recall(self) -> bool:
        """Take back what the loop asked for: unclaimed rows of lanes that are paused."""
        wanted = [job_id for ids in drain(self._requests.recalls) for job_id in ids]
        for start in range(0, len(wanted), self._settings.sweep_max):
            ids = integers(sorted(wanted[start : start + self._settings.sweep_max]))
            parameters = {"epoch": self._epoch, "ids": ids}
            recalled = self._ids.execute(sql.load(_PACKAGE, "recall"), parameters).fetchall()
            if recalled:
                self._tell(Recalled(tuple(recalled)))
        return False

    def mark_dead(self) -> bool:
        """Mark workers whose lease lapsed; what they hold is stolen next."""
        parameters = {
            "epoch": self._epoch,
            "worker_lease_seconds": self._settings.worker_lease_seconds,
            "limit": self._settings.sweep_max,
        }
        rows = self._connection.execute(sql.load(_PACKAGE, "mark_dead"), parameters).fetchall()
        for row in rows:
            _log.warning("worker.lost", worker=row[0], name=row[1])
        if rows:
            self._died = True
            self._requests.steal()
        return len(rows) >= self._settings.sweep_max

    def steal(self) -> bool:
        """Take back what the dead hold: after a death, and slowly beside that.

        A round reads all of `work_queue`, a stretch of pages at a time, and a term's first one
        begins at once. After a death there is more until a round that began after it is over.
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
        stolen = self._steal.execute(sql.load(_PACKAGE, "steal"), parameters).fetchone()
        assert stolen is not None
        self._stolen_to = stolen.behind or _TABLE_START
        if stolen.ids:
            _log.warning("jobs.stolen", count=len(stolen.ids))
            self._metrics.rescued.inc(len(stolen.ids))
            self._metrics.endings.stolen(stolen.queues, stolen.kinds, stolen.became)
        return stolen.behind is not None or self._died

    def expire(self) -> bool:
        """End what expired before it started."""
        limit, from_us = self._settings.sweep_max, self._expiry.begin()
        parameters = {"epoch": self._epoch, "from_us": from_us, "limit": limit}
        row = self._expire.execute(sql.load(_PACKAGE, "expire"), parameters).fetchone()
        assert row is not None
        full = row.ended >= limit
        self._expiry.looked(from_us, row.now_us, reached_us=from_us if full else None)
        return full

    def _rest(self, every_seconds: float) -> float:
        return _IDLE_SECONDS if self._requests.idle else every_seconds

    def _promote_rest(self, every_seconds: float) -> float:
        """Rest longer while nothing stirs that could fail and nothing is to fall due."""
        if not self._requests.idle:
            return every_seconds
        return max(every_seconds, min(_PROMOTE_IDLE_SECONDS, self._next_seconds))

    def _tell(self, item: News) -> None:
        self._news.put(item)
        self._bell.ring()
