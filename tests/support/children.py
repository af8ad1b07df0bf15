"""A worker's child on its own: the test is what its parent is.

The child is a real process. The test registers the worker, speaks with the child over the
control socket and reads its attempt table, as a parent does.
"""

import os
import signal
import socket
import sys
import threading
from collections.abc import Generator
from contextlib import contextmanager, suppress
from typing import TypeVar

from psycopg import Connection
from psycopg.rows import TupleRow

from fairlead_worker.ipc import messages
from fairlead_worker.ipc.attempt_table import (
    AttemptEntry,
    AttemptTable,
    new_attempt_table,
    stand_ins_of,
)
from tests.support import tree
from tests.support.preforked import fork
from tests.support.waiting import until

Message = TypeVar("Message")

APP = "tests.support.child_app:tasks"
_EXIT_SECONDS = 10.0
_START_SECONDS = 60.0  # half a second of work, on a machine that may have much of it


def register(
    db: Connection[TupleRow],
    *,
    slots: int = 4,
    name: str = "tested",
    lease: str = "1 hour",
    pool: str = "default",
    releases_slots: bool = False,
    version: str = "",
) -> int:
    """Register a worker whose lease ends so long from now; return its id.

    It speaks only SQL unless it has a version, as Fairlead's own do.
    """
    row = db.execute(
        "SELECT worker FROM fairlead.register_worker(name => %s, pool => %s, slots => %s,"
        " lease_seconds => extract(epoch FROM %s::interval)::float8, releases_slots => %s,"
        " version => %s)",
        [name, pool, slots, lease, releases_slots, version],
    ).fetchone()
    assert row is not None
    return int(row[0])


class RunningChild:
    """A child process and both ends of what a parent has of it."""

    def __init__(
        self,
        database_url: str,
        *,
        concurrency: int = 4,
        app: str = APP,
        quarantine: bool = False,
        environment: dict[str, str] | None = None,
    ) -> None:
        """Start the process."""
        ours, theirs = socket.socketpair()
        descriptor = new_attempt_table(concurrency)
        self._table = AttemptTable(descriptor, concurrency)
        arguments = ["--app", app, "--pool", "default", "--concurrency", str(concurrency)]
        arguments += ["--stand-ins", str(1 if quarantine else stand_ins_of(concurrency))]
        arguments += ["--log-format", "json", "--control-fd", "{0}", "--table-fd", "{1}"]
        arguments += ["--quarantine"] if quarantine else []
        reading, stderr = os.pipe()
        with theirs:
            self.process = fork(
                arguments,
                [theirs.fileno(), descriptor],
                stderr=stderr,
                env={
                    **os.environ,
                    "FAIRLEAD_DATABASE_URL": database_url,
                    "PYTHONPATH": tree.SOURCES,
                    **(environment or {}),
                },
            )
        os.close(stderr)
        self._stderr = os.fdopen(reading, encoding="utf-8")
        os.close(descriptor)
        self.socket = ours
        self.received: list[messages.ToParent] = []
        self.log: list[str] = []
        self._threads = [
            threading.Thread(target=self._listen, daemon=True),
            threading.Thread(target=self._read_log, daemon=True),
        ]
        for thread in self._threads:
            thread.start()
        with suppress(BrokenPipeError):  # its application could not be loaded
            self.send(messages.MayConnect(allowed=True))

    @property
    def pid(self) -> int:
        """Its id, which is its group's as well."""
        assert self.process.pid is not None
        return self.process.pid

    def send(self, message: messages.ToChild) -> None:
        """Send a message to the child."""
        self.socket.sendall(messages.to_child(message))

    def receives(
        self, kind: type[Message], *, count: int = 1, seconds: float = 10.0
    ) -> Message:
        """Wait until the child has sent so many messages of this kind; return the last."""

        def find() -> Message | None:
            found = [each for each in self.received if isinstance(each, kind)]
            return found[count - 1] if len(found) >= count else None

        what = f"{kind.__name__} from the child; its log: {self.log[-5:]}"
        return until(find, what=what, seconds=seconds)

    def running(self) -> tuple[AttemptEntry, ...]:
        """Return what runs, by the attempt table."""
        return self._table.read()

    def runs(self, count: int = 1) -> tuple[AttemptEntry, ...]:
        """Wait until so many attempts run at once, and return them."""
        return until(
            lambda: self.running() if len(self.running()) == count else None,
            what=f"{count} running attempts; the child's log: {self.log[-5:]}",
        )

    def counted(self, series: str, *labels: str) -> float:
        """Return how far a counter has grown, over all series that begin with these labels."""
        return sum(
            each.by
            for growth in self.received
            if isinstance(growth, messages.MetricsGrowth)
            for each in growth.counters
            if each.series == series and each.labels[: len(labels)] == labels
        )

    def exits(self) -> int:
        """Wait for its end; return the exit code."""
        self.process.join(_EXIT_SECONDS)
        code = self.process.exitcode
        if code is None:
            raise TimeoutError(f"child {self.pid} did not end within {_EXIT_SECONDS:g} s")
        for thread in self._threads:
            thread.join(_EXIT_SECONDS)
        return code

    def end(self) -> None:
        """End it and what it has started, however it stands."""
        with suppress(ProcessLookupError):
            os.killpg(self.pid, signal.SIGKILL)
        self.process.kill()  # one that leads no group yet
        self.exits()
        self.socket.close()
        self._stderr.close()

    def _listen(self) -> None:
        with suppress(OSError), self.socket.makefile("rb") as lines:
            for line in lines:
                self.received.append(messages.from_child(line))

    def _read_log(self) -> None:
        for line in self._stderr:
            self.log.append(line)
            sys.stderr.write(line)


def endings(db: Connection[TupleRow], job_id: int) -> list[tuple[object, ...]]:
    """Return how a job has ended so far: outcome, result, error."""
    return db.execute(
        "SELECT outcome, result, error FROM fairlead.job_history WHERE id = %s", [job_id]
    ).fetchall()


def ending(db: Connection[TupleRow], job_id: int) -> tuple[object, ...]:
    """Wait for a job's one ending."""
    (only,) = until(lambda: endings(db, job_id), what=f"an ending of job {job_id}")
    return only


@contextmanager
def child(
    database_url: str,
    worker_id: int,
    *,
    app: str = APP,
    concurrency: int = 4,
    environment: dict[str, str] | None = None,
) -> Generator[RunningChild]:
    """Run a child that claims; end it in any case."""
    running = RunningChild(
        database_url, app=app, concurrency=concurrency, environment=environment
    )
    try:
        running.receives(messages.Ready, seconds=_START_SECONDS)
        running.send(messages.StartClaiming(worker_id))
        yield running
    finally:
        running.end()


@contextmanager
def quarantine_child(database_url: str) -> Generator[RunningChild]:
    """Run a quarantine process; end it in any case."""
    running = RunningChild(database_url, concurrency=1, quarantine=True)
    try:
        running.receives(messages.Ready, seconds=_START_SECONDS)
        yield running
    finally:
        running.end()
