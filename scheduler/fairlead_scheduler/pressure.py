"""Back-pressure: count lanes that have a backlog limit, and publish which accept no more jobs.

It has a session and a thread of its own, because it is to be on time whatever the other chores
wait for. Without a limit in the policy it rests.
"""

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from time import monotonic
from typing import TypeAlias, TypeVar

from psycopg import Cursor
from psycopg.rows import args_row

from fairlead import log, sql
from fairlead.sql import integers
from fairlead.store import Connection
from fairlead_scheduler.backlog import OFTEN_SECONDS, Backlogs, Key, Shut, Want, reopens_at
from fairlead_scheduler.caps import Caps
from fairlead_scheduler.chores import Chore
from fairlead_scheduler.metrics import Metrics

_log = log.get("scheduler")
_PACKAGE = __package__ or ""
_LIST_SECONDS = 2.0
_REST_SECONDS = 60.0
_DUTY = 0.5
"""What took so long is seen after three times as long at most."""
_ENTRIES_AT_ONCE = 100_000
"""Jobs that one statement is expected to count at most, which takes some 50 ms."""
_QUEUES_AT_ONCE = 200
_CHANGES_AT_ONCE = 1000
_SNAPSHOT = b"set transaction isolation level repeatable read, read only"
T = TypeVar("T")
Row: TypeAlias = Mapping[str, str | int | None]
"""A row of `over_backlog` to be."""


class Pressure:
    """The back-pressure of one term over one session.

    Args:
        caps: What the policy says when the term begins.
    """

    def __init__(
        self, connection: Connection, *, epoch: int, caps: Caps, metrics: Metrics
    ) -> None:
        self._connection = connection
        self._epoch = epoch
        self._ruled = caps
        self._metrics = metrics
        self._backlogs: Backlogs | None = None
        self._listed_at = 0.0
        self._gate_wide = True
        """Whether the gate may have bits that no row has."""
        self._rows: Cursor[Shut] = connection.cursor(binary=True, row_factory=args_row(Shut))
        self._lanes: Cursor[tuple[Key, int]] = connection.cursor(
            binary=True, row_factory=args_row(_lane)
        )
        self._counted: Cursor[tuple[int, int]] = connection.cursor(
            binary=True, row_factory=args_row(_pair)
        )

    def chores(self) -> tuple[Chore, ...]:
        """Return what to do and how often; other limits make it sooner."""
        return (Chore("backlog", OFTEN_SECONDS, self.look, _DUTY, rest=self._rest),)

    def rule(self, caps: Caps) -> None:
        """Go by other limits from the next look on; from any thread."""
        self._ruled = caps

    def look(self) -> bool:
        """Count what is due, and publish who is over the limit and who no longer is."""
        backlogs = self._known()
        if backlogs.caps is not self._ruled:
            backlogs.rule(self._ruled)
            self._listed_at = 0.0
        self._publish(backlogs)
        if backlogs.caps.any:
            self._count(backlogs)
            self._publish(backlogs)
        if self._gate_wide:
            self._narrow_gate()
        return False

    def _rest(self, every_seconds: float) -> float:
        return every_seconds if self._ruled.any else _REST_SECONDS

    def _known(self) -> Backlogs:
        """Return what is known; the first time, what the leader before has published."""
        if self._backlogs is None:
            rows = self._rows.execute(sql.load(_PACKAGE, "over_backlog")).fetchall()
            self._backlogs = Backlogs(self._ruled, rows)
        return self._backlogs

    def _count(self, backlogs: Backlogs) -> None:
        """Count the lanes that are due, and take in what they have.

        In one snapshot: a job that falls due between two of them would be counted twice.
        """
        found: list[tuple[Key, int]] = []
        with self._connection.transaction():
            self._connection.execute(_SNAPSHOT)
            scheduled = self._scheduled()
            self._list(backlogs, scheduled)
            for wants in _batches(backlogs.due(monotonic())):
                found += self._counts(wants)
        now = monotonic()
        ages = [backlogs.counted(key, jobs + scheduled[key], now) for key, jobs in found]
        if ages:
            self._metrics.backlog.counted(oldest_seconds=max(ages))

    def _scheduled(self) -> Counter[Key]:
        """Count what is scheduled, by lane and by queue."""
        found: Counter[Key] = Counter()
        lanes = self._lanes.execute(sql.load(_PACKAGE, "count_scheduled")).fetchall()
        for (queue, tenant), jobs in lanes:
            found[queue, tenant] = jobs
            found[queue, None] += jobs
        return found

    def _list(self, backlogs: Backlogs, scheduled: Iterable[Key]) -> None:
        """Look which lanes there are, now and then."""
        if monotonic() < self._listed_at + _LIST_SECONDS:
            return
        self._listed_at = monotonic()
        execute = self._connection.execute
        rows = execute(sql.load(_PACKAGE, "backlog_queues")).fetchall()
        queues = [str(row[0]) for row in rows]
        keys = {*scheduled, *((queue, None) for queue in queues)}
        named = [queue for queue in queues if backlogs.caps.queue(queue).of_tenants]
        for some in _chunks(named, _QUEUES_AT_ONCE):
            lanes = execute(sql.load(_PACKAGE, "backlog_lanes"), {"queues": list(some)})
            keys |= {(str(queue), str(tenant)) for queue, tenant in lanes.fetchall()}
        backlogs.found(keys)

    def _counts(self, wants: Sequence[Want]) -> Iterator[tuple[Key, int]]:
        """Count what some lanes have that is due."""
        lanes = [want for want in wants if want.key[1] is not None]
        queues = [want for want in wants if want.key[1] is None]
        for name, some in (("count_lanes", lanes), ("count_queues", queues)):
            if some:
                values = {
                    "queues": [want.key[0] for want in some],
                    "tenants": [want.key[1] for want in some],
                    "most": integers(want.most for want in some),
                }
                rows = self._counted.execute(sql.load(_PACKAGE, name), values).fetchall()
                yield from ((some[place - 1].key, jobs) for place, jobs in rows)

    def _publish(self, backlogs: Backlogs) -> None:
        """Have everybody see what has changed; what opens goes first."""
        changes = backlogs.changes()
        self._gate_wide = self._gate_wide or bool(changes.opened)
        for some in _chunks(changes.opened, _CHANGES_AT_ONCE):
            self._write(opened=integers(row for _, row in some))
            for key, _ in some:
                backlogs.published(key, None)
        for some in _chunks(changes.shut, _CHANGES_AT_ONCE):
            for key, row in self._write(shut=[_row(key, limit) for key, limit in some]):
                backlogs.published(key, row)
        if changes.shut or changes.opened:
            _log.info("backlog.changed", shut=len(changes.shut), opened=len(changes.opened))
        self._metrics.backlog.show(backlogs.shut)

    def _write(
        self, *, opened: str = "{}", shut: Sequence[Row] = ()
    ) -> Sequence[tuple[Key, int]]:
        """Write a few changes, unless another scheduler leads; return the rows that it made."""
        values = {"epoch": self._epoch, "opened": opened, "shut": json.dumps(shut)}
        rows = self._rows.execute(sql.load(_PACKAGE, "publish_backlog"), values)
        return [((row.queue, row.tenant), row.id) for row in rows]

    def _narrow_gate(self) -> None:
        """Let INSERTs of lanes pass unasked that are open, unless another scheduler leads."""
        self._connection.execute(sql.load(_PACKAGE, "narrow_gate"), {"epoch": self._epoch})
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


def _batches(wants: Iterable[Want]) -> Iterator[Sequence[Want]]:
    """Cut what is to be counted into statements of a bounded length."""
    batch: list[Want] = []
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
