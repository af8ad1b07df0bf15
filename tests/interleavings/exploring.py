"""Run every schedule of some operations from one start, and say what broke in which."""

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import NamedTuple

import psycopg
from psycopg import Connection
from psycopg.rows import TupleRow, dict_row

from fairlead.db.statements import load
from tests.interleavings import invariants, starts
from tests.interleavings.operations import Operation
from tests.interleavings.programs import finish
from tests.interleavings.scene import Scene, Told
from tests.interleavings.schedules import NAMES, next_prefix, written
from tests.interleavings.stepping import Program, Run, Stage
from tests.support import race
from tests.support.race import Lease

Database = Connection[TupleRow]

ALLOWED = {"FL001", "55P03"}
"""A stale token, and a lock that somebody else has: both are answers."""
_VACUUM_EVERY = 200


class Broken(NamedTuple):
    """A schedule by which something broke."""

    line: str
    what: tuple[str, ...]
    trail: tuple[str, ...]
    choices: tuple[int, ...]

    def __str__(self) -> str:
        """Return the line to replay it by, what broke, and where each side went."""
        return "\n  ".join((self.line, *self.what, *self.trail))


@dataclass(slots=True)
class Report:
    """What became of all schedules of one start and some operations."""

    schedules: int = 0
    states: int = 0
    broken: list[Broken] = field(default_factory=list[Broken])


class Arena:
    """A database with pauses, the sides, and the states that they begin with."""

    def __init__(self, connect: Callable[[], Database], sides: int = 2) -> None:
        self.stage = Stage(connect, sides)
        self.db = self.stage.db
        self._scenes: dict[str, Scene] = {}
        self._changed: dict[tuple[str, ...], bool] = {}
        self._runs = 0

    def restore(self, start: str) -> Scene:
        """Put a state back; return what is in it."""
        if start not in self._scenes:
            self._scenes[start] = starts.make(self.db, start)
        self._runs += 1
        if self._runs % _VACUUM_EVERY == 0:
            self.db.execute("VACUUM " + ", ".join(f"fairlead.{x}" for x in starts.TABLES))
        self.db.execute(f"SELECT proof.restore_{start}()".encode())
        return self._scenes[start]

    def explore(
        self,
        start: str,
        operations: Sequence[Operation],
        *,
        switches_max: int | None = None,
        broken_max: int = 3,
    ) -> Report:
        """Run the schedules of some operations until as many as that have broken something."""
        report = Report()
        alike = len({each.name for each in operations}) == 1
        seen: set[str] = set()
        prefix: tuple[int, ...] | None = ()
        while prefix is not None and len(report.broken) < broken_max:
            run, found = self.run(start, operations, prefix, seen)
            report.schedules += 1
            if found:
                report.broken.append(self._told(start, operations, run, found))
            prefix = next_prefix(run.choices, alike=alike, switches_max=switches_max)
        report.states = len(seen)
        return report

    def run(
        self,
        start: str,
        operations: Sequence[Operation],
        prefix: Sequence[int],
        seen: set[str] | None = None,
    ) -> tuple[Run, list[str]]:
        """Run one schedule; return it, and what broke.

        Args:
            start: the state's name.
            operations: what each side does.
            prefix: the choices that it begins with.
            seen: states in which schedules have ended, from which the rest was looked at.
        """
        scene = self.restore(start)
        watch = _Watch(self.db, scene, [Told() for _ in operations])
        programs = [
            each.play(scene, heard) for each, heard in zip(operations, watch.heard, strict=True)
        ]
        run = self.stage.play(programs, prefix, watch.committed)
        found = watch.found + [
            f"side {NAMES[side]} ended with {error}"
            for side, error in run.errors.items()
            if error not in ALLOWED
        ]
        state = invariants.state(self.db, scene)
        if not found and (seen is None or state not in seen):
            found += settle(self.db, scene)
        if seen is not None:
            seen.add(state)
        return run, found

    def matters(self, start: str, operations: Sequence[Operation]) -> bool:
        """Return whether operations may meet: each changes the start, or what the other left.

        One that changes neither only reads, or locks what the other passes over or waits for.
        Or it acts in the middle of the other alone, which is not tried.
        """
        first, second = operations
        return (self._changes(start, first) or self._changes(start, second, first)) and (
            self._changes(start, second) or self._changes(start, first, second)
        )

    def _changes(self, start: str, *operations: Operation) -> bool:
        """Return whether the last of operations changes anything when they go one by one."""
        key = (start, *(each.name for each in operations))
        if key not in self._changed:
            scene = self.restore(start)
            rows: list[object] = []
            for each in operations:
                rows.append(self.db.execute(_ROWS).fetchone())
                _play_alone(self.db, each.play(scene, Told()))
            self._changed[key] = rows[-1] != self.db.execute(_ROWS).fetchone()
        return self._changed[key]

    def _told(
        self, start: str, operations: Sequence[Operation], run: Run, found: Sequence[str]
    ) -> Broken:
        names = "+".join(each.name for each in operations)
        taken = tuple(choice.taken for choice in run.choices)
        trails = [f"{NAMES[side.number]}: {', '.join(side.trail)}" for side in self.stage.sides]
        line = f"{start} {names} {written(taken)}"
        return Broken(line, tuple(found), tuple(trails), taken)


def _play_alone(db: Database, program: Program) -> None:
    """Run an operation without a pause."""
    with suppress(StopIteration):
        todo = next(program)
        while True:
            try:
                with db.transaction(), db.cursor(row_factory=dict_row) as cursor:
                    while todo is not None:
                        cursor.execute(*todo)
                        todo = program.send(cursor.fetchall() if cursor.description else [])
            except psycopg.Error as error:
                if error.sqlstate in ALLOWED:
                    return
                raise
            todo = program.send([])


@dataclass(slots=True)
class _Watch:
    """Looks at the database after each commit."""

    db: Database
    scene: Scene
    heard: list[Told]
    told: Told = field(default_factory=Told)
    found: list[str] = field(default_factory=list[str])

    def committed(self, side: int) -> None:
        changed = self.heard[side]
        self.told.add(changed)
        if not self.found:
            self.found += invariants.broken(self.db, self.scene, self.told, changed=changed)
        changed.clear()


def settle(db: Database, scene: Scene) -> list[str]:
    """Let a leader look and a worker work, once, when all have committed; return what is left.

    It promotes, takes back what the dead hold, forgets what was deleted by hand, dispatches,
    lowers the floor and claims from it: then nothing but scheduled jobs may be left, and
    everything that is held can be finished.
    """
    epoch = race.leading(db)
    race.promote(db, epoch=epoch)
    race.steal(db, epoch=epoch)
    orphans = {"epoch": epoch, "page": 0, "pages": 8192}
    db.execute(load("fairlead_scheduler.background", "forget_orphans"), orphans)
    pending = _ids(db, _PENDING)
    moved = race.dispatch(db, pending, epoch=epoch, floor=1000)
    (lowest,) = db.execute(_LOWEST).fetchone() or (None,)
    if lowest is not None:
        values = {"epoch": epoch, "floor": lowest, "pool": "default", "band": 0}
        db.execute(load("fairlead_scheduler.loop", "lower_floor"), values)
    unclaimed = _ids(db, _UNCLAIMED)
    claimed = sorted(lease.job for lease in race.claim(db, scene.last, limit=100))
    held = [Lease(*row) for row in db.execute(_HELD).fetchall()]
    text, ending = finish(held)
    finished = sorted(row[0] for row in db.execute(text, ending).fetchall())
    steps: tuple[tuple[str, list[int], list[int]], ...] = (
        ("dispatch", pending, sorted(moved)),
        ("claim", unclaimed, claimed),
        ("finish", sorted(lease.token for lease in held), finished),
        ("look at what is left", [], _ids(db, _LEFT)),
    )
    return [
        f"when all have ended, to {what}: {wanted} wanted, {got} got"
        for what, wanted, got in steps
        if wanted != got
    ]


def _ids(db: Database, query: bytes) -> list[int]:
    return [row[0] for row in db.execute(query).fetchall()]


_ROWS = "SELECT {}".format(
    ", ".join(
        f"(SELECT md5(string_agg(t::text, ' ' ORDER BY t::text)) FROM fairlead.{table} t)"
        for table in starts.TABLES
    )
).encode()
_PENDING = b"""
    SELECT j.id FROM fairlead.jobs j WHERE j.run_at IS NULL
      AND NOT EXISTS (SELECT FROM fairlead.work_queue q WHERE q.job_id = j.id) ORDER BY j.id
"""
_UNCLAIMED = b"SELECT job_id FROM fairlead.work_queue WHERE worker IS NULL ORDER BY job_id"
_LOWEST = b"SELECT min(vtag) FROM fairlead.work_queue WHERE worker IS NULL"
_HELD = b"""
    SELECT q.job_id, q.token FROM fairlead.work_queue q
    WHERE q.worker IS NOT NULL AND NOT q.completed
      AND EXISTS (SELECT FROM fairlead.jobs j WHERE j.id = q.job_id) ORDER BY q.job_id
"""
_LEFT = b"""
    SELECT j.id FROM fairlead.jobs j WHERE j.run_at IS NULL OR j.run_at <= now()
    UNION SELECT q.job_id FROM fairlead.work_queue q WHERE NOT q.completed
      AND (q.worker IS NULL OR q.deadline > now()
           OR EXISTS (SELECT FROM fairlead.jobs j WHERE j.id = q.job_id))
"""
"""What is held of a deleted job ends with its deadline, which has passed by then."""
