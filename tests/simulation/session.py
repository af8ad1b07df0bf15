"""Sessions of simulated processes: the services' own code sends its statements over them.

A statement takes time, before and after it happens, and others act meanwhile. A process may
stand still for long in the middle of one, or die there, and a session may be lost: before the
statement, after it, or while the server goes on with it.
"""

from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from random import Random
from typing import cast

import psycopg
from psycopg import errors
from psycopg.rows import scalar_row

from tests.simulation.reads import Rows, Values
from tests.simulation.statements import Statements
from tests.support.simulated_jobs import MS, SECOND, Clock

RowFactory = Callable[[object], Callable[[tuple[object, ...]], object]]
"""Makes, of a cursor, what makes an object of a row's values."""


class Killed(Exception):
    """The process of a statement was killed: nothing of it goes on."""


@dataclass(frozen=True, slots=True)
class Troubles:
    """How often statements meet with what, each as a share of them."""

    freezes: float = 0.0
    losses: float = 0.0
    refusals: float = 0.0
    """Of dispatches: the server ends them, and the session is as good as before."""
    latency_us: int = MS


@dataclass(slots=True)
class Process:
    """A process that has sessions; it lives, stands still, or is dead."""

    clock: Clock
    dice: Random
    troubles: Troubles
    is_alive: bool = True
    frozen_until_us: int = 0
    losses: int = 0
    waits_us: list[int] = field(default_factory=list[int])
    """Until when its statements were to be on their way; others may have held them up."""
    disturbed: Callable[[], None] = lambda: None
    """Called when anything happens to it."""

    def stand_still(self, us: int) -> None:
        """Let others act for so long, while this process does nothing."""
        self.frozen_until_us = max(self.frozen_until_us, self.clock.now_us + us)
        self.disturbed()
        self.clock.run(self.frozen_until_us)
        self.disturbed()
        self._check()

    def take_time(self) -> None:
        """Let a statement be on its way."""
        if self.dice.random() < self.troubles.freezes:
            self.stand_still(self.dice.randint(100 * MS, 5 * SECOND))
        elif self.clock.now_us < self.frozen_until_us:
            self.clock.run(self.frozen_until_us)
        until_us = self.clock.now_us + self.dice.randint(0, self.troubles.latency_us)
        self.waits_us.append(until_us)
        self.clock.run(until_us)
        self.waits_us.remove(until_us)
        self._check()

    @property
    def stands_still(self) -> bool:
        """Whether it does nothing now."""
        late_us = self.clock.now_us - 50 * MS
        return self.frozen_until_us > self.clock.now_us or any(
            x < late_us for x in self.waits_us
        )

    def _check(self) -> None:
        if not self.is_alive:
            raise Killed


@dataclass(slots=True)
class _Info:
    transaction_status: int = 0


@dataclass(slots=True)
class Session:
    """A connection as the services use it."""

    process: Process
    statements: Statements
    closed: bool = False
    info: _Info = field(default_factory=_Info)

    def close(self) -> None:
        """Close it."""
        self.closed = True

    def cursor(self, *, binary: bool = False, row_factory: object = None) -> "SimulatedCursor":
        """Return a cursor."""
        del binary
        return SimulatedCursor(self, row_factory)

    def execute(
        self, query: bytes, values: Values | None = None, **_: object
    ) -> "SimulatedCursor":
        """Run one statement."""
        return self.cursor().execute(query, values)

    @contextmanager
    def pipeline(self) -> Generator[None]:
        """Send what follows at once; each statement happens by itself all the same."""
        yield

    def run(self, query: bytes, values: Values) -> Rows:
        """Run a statement, with what may come between."""
        name = named(query)
        if name is None:
            return []
        process, troubles = self.process, self.process.troubles
        if self.closed:
            raise psycopg.OperationalError("the connection is closed")
        process.take_time()
        if process.dice.random() < troubles.losses:
            self._lose(name, values)
        if name == "dispatch" and process.dice.random() < troubles.refusals:
            process.disturbed()
            raise errors.QueryCanceled("canceling statement due to statement timeout")
        rows = self.statements.run(name, values)
        process.take_time()
        return rows

    def _lose(self, name: str, values: Values) -> None:
        """Lose the session: the statement is not sent, has been committed, or goes on.

        What goes on ends within two seconds, and before anybody takes over.
        """
        process, database = self.process, self.statements.database
        process.losses += 1
        process.disturbed()
        self.closed = True
        how = process.dice.randrange(3)
        if how == 1:
            self.statements.run(name, values)
        elif how == 2:
            late = partial(self.statements.run, name, values)

            def go_on() -> None:
                if late_one in database.under_way:
                    database.under_way.remove(late_one)
                    late()

            def late_one() -> None:
                late()

            database.under_way.append(late_one)
            process.clock.at(process.clock.now_us + process.dice.randrange(2 * SECOND), go_on)
        raise psycopg.OperationalError("the connection is lost")


def named(query: bytes) -> str | None:
    """Return a statement's name; None for one that has none, such as LISTEN."""
    head = query.split(b"\n", 1)[0]
    if not head.startswith(b"/*"):
        return None
    return head.decode().removeprefix("/*").removesuffix("*/").rpartition(":")[2].strip()


class SimulatedCursor:
    """A cursor as the services use it."""

    def __init__(self, session: Session, row_factory: object) -> None:
        self._session = session
        self._make = cast("RowFactory | None", row_factory)
        self._row_is_scalar = row_factory is scalar_row
        self._rows: list[object] = []
        self.rowcount = 0

    def execute(
        self, query: bytes, values: Values | None = None, **_: object
    ) -> "SimulatedCursor":
        """Run a statement."""
        self._rows = [self._made(row) for row in self._session.run(query, values or {})]
        self.rowcount = len(self._rows)
        return self

    def _made(self, row: tuple[object, ...]) -> object:
        if self._make is None:
            return row
        return row[0] if self._row_is_scalar else self._make(self)(row)

    def fetchone(self) -> object:
        """Return the first row that is left."""
        return self._rows.pop(0) if self._rows else None

    def fetchall(self) -> list[object]:
        """Return the rows that are left."""
        rows, self._rows = self._rows, []
        return rows
