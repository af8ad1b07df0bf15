"""Sides of a race on sessions of their own, each of which takes one step when it is told to.

A step ends when the session says that it pauses, answers, or waits for another's lock. The
first two are messages; the last is asked of the server while no message comes.
"""

import select
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, field
from time import monotonic
from typing import Any

import psycopg
from psycopg import ClientCursor, Connection, pq
from psycopg.adapt import Transformer
from psycopg.rows import TupleRow

from fairlead.db.connect import SESSION
from tests.interleavings.schedules import Choice

Database = Connection[TupleRow]
Row = dict[str, Any]
Statement = tuple[bytes, Mapping[str, object] | Sequence[object]]
Program = Generator[Statement | None, list[Row], None]
"""What a side does: statements, each sent for its rows; None commits."""

STEP_SECONDS = 10.0
_LOOK_SECONDS = 0.001
_SETTINGS = (
    *SESSION,
    "SET lock_timeout = '60s'",  # a batch waits for as long as a schedule wants it to
    "SET deadlock_timeout = '20ms'",
    "SET client_min_messages = notice",
)


class NotAsBefore(AssertionError):
    """A side that was to go could not: a schedule is not the same twice."""


@dataclass(slots=True)
class Side:
    """One session and the operation that it takes steps of."""

    number: int
    db: Database
    turn: int = 0
    state: str = "over"
    """ready, between statements; paused or blocked, inside of one; over."""
    program: Program | None = None
    todo: Statement | None = None
    in_transaction: bool = False
    error: str | None = None
    trail: list[str] = field(default_factory=list[str])
    result: pq.abc.PGresult | None = None

    def begin(self, program: Program) -> None:
        """Take up an operation; nothing of it is sent yet."""
        self.program, self.error, self.result = program, None, None
        self.trail.clear()
        self.todo = next(program)
        self.state = "ready"

    def note(self, notice: psycopg.errors.Diagnostic) -> None:
        """Hear that the session pauses."""
        said = notice.message_primary or ""
        if said.startswith("paused at "):
            self.trail.append(said.removeprefix("paused at "))
            self.state = "paused"

    def send(self) -> bool:
        """Send what comes next; return whether it is a commit, which is over by now."""
        if self.todo is None:
            self.db.execute("COMMIT")
            self.in_transaction = False
            self.trail.append("commit")
            self._go_on([])
            return True
        text, values = self.todo
        sent = ClientCursor(self.db).mogrify(text, values)
        self.db.pgconn.send_query((sent if self.in_transaction else f"BEGIN; {sent}").encode())
        self.in_transaction = True
        self.state = "running"
        return False

    def read(self) -> None:
        """Take what has come."""
        connection = self.db.pgconn
        connection.consume_input()
        while self.state not in {"ready", "over"} and not connection.is_busy():
            result = connection.get_result()
            if result is None:
                self._answered()
            else:
                self.result = result

    def _answered(self) -> None:
        assert self.result is not None
        result, self.result = self.result, None
        if result.status == pq.ExecStatus.FATAL_ERROR:
            self.error = (result.error_field(pq.DiagnosticField.SQLSTATE) or b"?").decode()
            self.trail.append(f"error {self.error}: {result.error_message.decode().strip()}")
            self.db.execute("ROLLBACK")
            self.in_transaction = False
            self.state = "over"
            return
        adapter = Transformer(self.db)
        adapter.set_pgresult(result)
        names = [(result.fname(i) or b"").decode() for i in range(result.nfields)]
        rows = adapter.load_rows(0, result.ntuples, tuple)
        self.trail.append("answer")
        self._go_on([dict(zip(names, row, strict=True)) for row in rows])

    def _go_on(self, rows: list[Row]) -> None:
        assert self.program is not None
        try:
            self.todo = self.program.send(rows)
            self.state = "ready"
        except StopIteration:
            self.state = "over"


@dataclass(slots=True)
class Run:
    """What one schedule came to."""

    choices: list[Choice] = field(default_factory=list[Choice])
    errors: dict[int, str] = field(default_factory=dict[int, str])


class Stage:
    """The sessions of the sides, and one that tells them when to go.

    Args:
        connect: opens a session of the superuser.
        sides: how many there are.
    """

    def __init__(self, connect: Callable[[], Database], sides: int) -> None:
        self.db = connect()
        self.db.execute("SET plan_cache_mode = force_generic_plan")
        self.looking = ClientCursor(self.db)
        self.sides: list[Side] = []
        for number in range(sides):
            side = Side(number, connect())
            for setting in _SETTINGS:
                side.db.execute(setting.encode())
            side.db.execute(f"SET proof.side = '{number}'".encode())
            side.db.add_notice_handler(side.note)
            self.sides.append(side)
            turn = f"SELECT (last_value + is_called::integer) % 2 FROM proof.turns_{number}"
            (side.turn,) = self.db.execute(turn.encode()).fetchone() or (0,)
            self.db.execute("SELECT pg_advisory_lock(%s, %s)", [number, side.turn])
        self._pids = {side.db.info.backend_pid: side.number for side in self.sides}

    def play(
        self,
        programs: Sequence[Program],
        prefix: Sequence[int],
        committed: Callable[[int], None],
    ) -> Run:
        """Run operations in the order that the prefix begins; call back after each commit."""
        run = Run()
        sides = self.sides[: len(programs)]
        for side, program in zip(sides, programs, strict=True):
            side.begin(program)
        last = -1
        while True:
            could = [side.number for side in sides if side.state in {"ready", "paused"}]
            if not could:
                if all(side.state == "over" for side in sides):
                    break
                self._settle([side for side in sides if side.state == "blocked"], patient=True)
                continue
            enabled = tuple(sorted(could, key=lambda each: (each != last, each)))
            at = len(run.choices)
            taken = prefix[at] if at < len(prefix) else enabled[0]
            if taken not in enabled:
                raise NotAsBefore(f"step {at}: {taken} is not among {enabled}")
            run.choices.append(Choice(enabled, taken))
            last = taken
            self._step(sides, sides[taken], committed)
        run.errors = {side.number: side.error for side in sides if side.error}
        return run

    def _step(
        self, sides: Sequence[Side], side: Side, committed: Callable[[int], None]
    ) -> None:
        if side.state == "ready":
            is_commit = side.send()
        else:
            is_commit = False
            self._let_go(side)
        if is_commit:
            committed(side.number)
        else:
            self._settle([side])
        if is_commit or side.error:
            self._settle([other for other in sides if other.state == "blocked"])

    def _let_go(self, side: Side) -> None:
        former, side.turn = side.turn, 1 - side.turn
        side.state = "running"
        self.db.execute(
            "SELECT pg_advisory_lock(%s, %s), pg_advisory_unlock(%s, %s)",
            [side.number, side.turn, side.number, former],
        )

    def _settle(self, waited: Sequence[Side], *, patient: bool = False) -> None:
        """Wait until each has said something or is known to wait for another.

        Args:
            waited: those that go, or may go now.
            patient: all of them wait for each other; the server ends one of them.
        """
        deadline = monotonic() + STEP_SECONDS
        moving: list[Side] = list(waited)
        while moving:
            ready, _, _ = select.select(
                [side.db.fileno() for side in moving], [], [], _LOOK_SECONDS
            )
            for side in moving:
                if side.db.fileno() in ready:
                    side.read()
            if patient and len(moving) > sum(s.state in {"running", "blocked"} for s in moving):
                return
            moving = [side for side in moving if side.state in {"running", "blocked"}]
            if not ready and not patient:
                moving = [side for side in moving if not self._waits(side)]
            if monotonic() > deadline:
                raise AssertionError(f"sides that do not go on: {moving}")

    def _waits(self, side: Side) -> bool:
        pid = side.db.info.backend_pid
        (by,) = self.looking.execute("SELECT pg_blocking_pids(%s)", [pid]).fetchone() or ([],)
        waits = bool(set(by) & set(self._pids))
        side.state = "blocked" if waits else "running"
        return waits
