"""Back-pressure: count lanes that have a backlog limit, and publish which accept no more jobs.

It has a session and a thread of its own, so that no other task delays it. Without a limit in
the policy it rests.
"""

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from time import monotonic
from typing import TypeAlias, TypeVar

from psycopg import Cursor
from psycopg.rows import args_row

from fairlead.db import statements
from fairlead.db.connect import Connection
from fairlead.db.statements import integers
from fairlead.runtime import log
from fairlead_scheduler.admission.backlog import (
    OFTEN_SECONDS,
    Backlogs,
    FullLane,
    Key,
    LaneToCount,
    reopens_at,
)
from fairlead_scheduler.leadership.periodic_task import PeriodicTask
from fairlead_scheduler.metrics.registry import Metrics
from fairlead_scheduler.policy.backlog_limits import BacklogLimits

_log = log.get("scheduler")
_PACKAGE = __package__ or ""
_LIST_SECONDS = 2.0
_REST_SECONDS = 60.0
_DUTY = 0.5
"""A full lane is seen after at most three times as long as its count takes."""
_ENTRIES_AT_ONCE = 100_000
"""The most jobs that one statement is expected to count, which takes some 50 ms."""
_QUEUES_AT_ONCE = 200
_CHANGES_AT_ONCE = 1000
_SNAPSHOT = b"set transaction isolation level repeatable read, read only"
T = TypeVar("T")
Row: TypeAlias = Mapping[str, str | int | None]
"""A row to be written to `over_backlog`."""


class BacklogPublisher:
    """The back-pressure of one term over one session.

    Args:
        limits: The backlog limits in force when the term begins.
    """

    def __init__(
        self, connection: Connection, *, epoch: int, limits: BacklogLimits, metrics: Metrics
    ) -> None:
        self._connection = connection
        self._epoch = epoch
        self._limits = limits
        self._metrics = metrics
        self._backlogs: Backlogs | None = None
        self._listed_at = 0.0
        self._gate_wide = True
        """Whether the gate may have bits of lanes that have been reopened."""
        self._rows: Cursor[FullLane] = connection.cursor(
            binary=True, row_factory=args_row(FullLane)
        )
        self._lanes: Cursor[tuple[Key, int]] = connection.cursor(
            binary=True, row_factory=args_row(_lane)
        )
        self._counted: Cursor[tuple[int, int]] = connection.cursor(
            binary=True, row_factory=args_row(_pair)
        )

    def tasks(self) -> tuple[PeriodicTask, ...]:
        """Return the task and its period; new limits run it at once."""
        return (PeriodicTask("backlog", OFTEN_SECONDS, self.step, _DUTY, rest=self._rest),)

    def set_limits(self, limits: BacklogLimits) -> None:
        """Apply other limits from the next run on; from any thread."""
        self._limits = limits

    def step(self) -> bool:
        """Count the lanes that are due, and publish which lanes are full and which reopen."""
        backlogs = self._load()
        if backlogs.limits is not self._limits:
            backlogs.set_limits(self._limits)
            self._listed_at = 0.0
        self._publish(backlogs)
        if backlogs.limits.any:
            self._count(backlogs)
            self._publish(backlogs)
        if self._gate_wide:
            self._narrow_gate()
        return False

    def _rest(self, every_seconds: float) -> float:
        return every_seconds if self._limits.any else _REST_SECONDS

    def _load(self) -> Backlogs:
        """Return the lanes' state; at first, what the former leader published."""
        if self._backlogs is None:
            rows = self._rows.execute(statements.load(_PACKAGE, "over_backlog")).fetchall()
            self._backlogs = Backlogs(self._limits, rows)
        return self._backlogs

    def _count(self, backlogs: Backlogs) -> None:
        """Count the lanes that are due.

        In one snapshot: a job that falls due between two snapshots would be counted twice.
        """
        found: list[tuple[Key, int]] = []
        with self._connection.transaction():
            self._connection.execute(_SNAPSHOT)
            scheduled = self._scheduled()
            self._list_lanes(backlogs, scheduled)
            for wants in _batches(backlogs.due(monotonic())):
                found += self._counts(wants)
        now = monotonic()
        ages = [backlogs.record_count(key, jobs + scheduled[key], now) for key, jobs in found]
        if ages:
            self._metrics.backlog.record_count_age(oldest_seconds=max(ages))

    def _scheduled(self) -> Counter[Key]:
        """Count scheduled jobs, by lane and by queue."""
        found: Counter[Key] = Counter()
        lanes = self._lanes.execute(statements.load(_PACKAGE, "count_scheduled")).fetchall()
        for (queue, tenant), jobs in lanes:
            found[queue, tenant] = jobs
            found[queue, None] += jobs
        return found

    def _list_lanes(self, backlogs: Backlogs, scheduled: Iterable[Key]) -> None:
        """List the lanes that have unfinished jobs, at most every two seconds."""
        if monotonic() < self._listed_at + _LIST_SECONDS:
            return
        self._listed_at = monotonic()
        execute = self._connection.execute
        rows = execute(statements.load(_PACKAGE, "backlog_queues")).fetchall()
        queues = [str(row[0]) for row in rows]
        keys = {*scheduled, *((queue, None) for queue in queues)}
        named = [queue for queue in queues if backlogs.limits.queue(queue).of_tenants]
        for some in _chunks(named, _QUEUES_AT_ONCE):
            lanes = execute(statements.load(_PACKAGE, "backlog_lanes"), {"queues": list(some)})
            keys |= {(str(queue), str(tenant)) for queue, tenant in lanes.fetchall()}
        backlogs.set_lanes(keys)

    def _counts(self, wants: Sequence[LaneToCount]) -> Iterator[tuple[Key, int]]:
        """Count the due jobs of some lanes."""
        lanes = [want for want in wants if want.key[1] is not None]
        queues = [want for want in wants if want.key[1] is None]
        for name, some in (("count_lanes", lanes), ("count_queues", queues)):
            if some:
                values = {
                    "queues": [want.key[0] for want in some],
                    "tenants": [want.key[1] for want in some],
                    "most": integers(want.most for want in some),
                }
                rows = self._counted.execute(statements.load(_PACKAGE, name), values).fetchall()
                yield from ((some[place - 1].key, jobs) for place, jobs in rows)

    def _publish(self, backlogs: Backlogs) -> None:
        """Publish the changes; reopened lanes go first."""
        changes = backlogs.changes()
        self._gate_wide = self._gate_wide or bool(changes.reopened)
        for some in _chunks(changes.reopened, _CHANGES_AT_ONCE):
            self._write(reopened=integers(row for _, row in some))
            for key, _ in some:
                backlogs.record_published(key, None)
        for some in _chunks(changes.full, _CHANGES_AT_ONCE):
            for key, row in self._write(full=[_row(key, limit) for key, limit in some]):
                backlogs.record_published(key, row)
        if changes.full or changes.reopened:
            _log.info("backlog.changed", full=len(changes.full), reopened=len(changes.reopened))
        self._metrics.backlog.show(backlogs.full_count)

    def _write(
        self, *, reopened: str = "{}", full: Sequence[Row] = ()
    ) -> Sequence[tuple[Key, int]]:
        """Write some changes, unless another scheduler leads; return the new rows."""
        values = {"epoch": self._epoch, "reopened": reopened, "full": json.dumps(full)}
        rows = self._rows.execute(statements.load(_PACKAGE, "publish_backlog"), values)
        return [((row.queue, row.tenant), row.id) for row in rows]

    def _narrow_gate(self) -> None:
        """Let INSERTs into reopened lanes skip the check again, unless deposed."""
        self._connection.execute(
            statements.load(_PACKAGE, "narrow_gate"), {"epoch": self._epoch}
        )
        self._gate_wide = False


def _pair(place: int, jobs: int) -> tuple[int, int]:
    return place, jobs


def _lane(queue: str, tenant: str, jobs: int) -> tuple[Key, int]:
    return (queue, tenant), jobs


def _row(key: Key, limit: int) -> Row:
    queue, tenant = key
    return {
        "queue": queue,
        "tenant": tenant,
        "backlog_limit": limit,
        "reopens_at": reopens_at(limit),
    }


def _batches(wants: Iterable[LaneToCount]) -> Iterator[Sequence[LaneToCount]]:
    """Split the lanes into statements of bounded cost."""
    batch: list[LaneToCount] = []
    entries = 0
    for want in wants:
        if batch and entries + want.expected > _ENTRIES_AT_ONCE:
            yield batch
            batch, entries = [], 0
        batch.append(want)
        entries += want.expected
    if batch:
        yield batch


def _chunks(items: Sequence[T], size: int) -> Iterator[Sequence[T]]:
    return (items[start : start + size] for start in range(0, len(items), size))
