"""A whole fleet under a real Prometheus, for tests of dashboards, alerts and runbooks.

Everything is a process on loopback, in a folder of its own, stopped by its id.
"""

import os
import signal
import tempfile
from collections.abc import Generator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType

import psycopg
import pytest
from psycopg import Connection
from psycopg.rows import TupleRow

from fairlead.policy_storage import store
from fairlead_cli.dev import process_table
from fairlead_cli.dev.postgres import Server
from fairlead_cli.dev.process_table import Process
from tests.support.asking import Asking, Sample
from tests.support.databases import fast_folder
from tests.support.observed import prometheus
from tests.support.observed.fleet import LOAD, Observed, Shape
from tests.support.observed.prometheus import PrometheusError
from tests.support.observed.targets import NAMESPACE
from tests.support.tree import SOURCES
from tests.support.waiting import until

__all__ = ["NAMESPACE", "Watched", "watching"]

_START_SECONDS = 300.0
_LEADER_SECONDS = 120.0
_RESTART_SECONDS = 60.0
_OUTPUT_LINES = 200


@dataclass(slots=True)
class Watched(Asking):
    """A fleet that runs, what Prometheus knows of it, and what may be done to it."""

    observed: Observed
    leaving: ExitStack
    said: dict[str, list[str]] = field(default_factory=dict[str, list[str]])
    frozen: set[str] = field(default_factory=set[str])

    @property
    def url(self) -> str:
        """The database's URL, as its superuser."""
        return self.observed.url

    @property
    def server(self) -> Server:
        """PostgreSQL, to be killed and restarted."""
        return self.observed.server

    @property
    def prometheus_url(self) -> str:
        """Prometheus' address."""
        return self.prometheus.url

    def wait_for(self, expr: str, seconds: float = 30) -> list[Sample]:
        """Return the first answer to a query that is not empty."""
        try:
            return until(lambda: self.query(expr), what=f"an answer to {expr}", seconds=seconds)
        except AssertionError as error:
            dead = sorted({*self.observed.fleet.names()} - {*self.names()})
            raise AssertionError(f"{error}; targets: {self.targets()}, dead: {dead}") from None

    # --- what may be done to the fleet ------------------------------------------------------

    def leader(self) -> str:
        """Return the scheduler that leads, as soon as one does."""
        return until(self.observed.leader, what="a leader", seconds=_LEADER_SECONDS)

    def names(self) -> list[str]:
        """Return the programs that are alive, workers too."""
        living = process_table.living()
        fixed = [each for each in self.observed.fleet.names() if self.pid(each) in living]
        return [*fixed, *(name for name, pid in self._workers().items() if pid in living)]

    def pid(self, name: str) -> int:
        """Return the process of a program, which may be dead."""
        workers = self._workers()
        return workers[name] if name in workers else self.observed.fleet.pid(name)

    def kill(self, name: str) -> None:
        """End a program with SIGKILL. The autoscaler restarts workers, and nothing else."""
        if name in self._workers():
            os.kill(self.pid(name), signal.SIGKILL)
        else:
            self.observed.fleet.kill(name)

    def start(self, name: str) -> None:
        """Start a program that was killed, under its name and with its port."""
        self.observed.start(name)

    def restart(self, name: str) -> None:
        """Stop a program as a pod that is deleted, and start it under its name and port."""
        self.observed.fleet.ask([name])
        stopped = self.observed.fleet.wait([name], seconds=_RESTART_SECONDS)
        assert stopped, f"{name} does not stop"
        self.start(name)

    def freeze(self, name: str, *, alone: bool = False) -> None:
        """Stop a program and its children, or it alone, as a machine that hangs does."""
        self.frozen.add(name)
        if alone:
            os.kill(self.pid(name), signal.SIGSTOP)
        else:
            self._send(name, signal.SIGSTOP)

    def thaw(self, name: str) -> None:
        """Let a program and its children go on."""
        self.frozen.discard(name)
        self._send(name, signal.SIGCONT)

    def lift(self) -> None:
        """Give what has lowered its own priority that of all others, where the user may.

        A busy machine does not get to what has the lowest one.
        """
        living = process_table.living()
        fleet = [*self.observed.fleet.names(), *self._workers()]
        for pid in {pid for name in fleet for pid in self._family(name, living)}:
            with suppress(ProcessLookupError, PermissionError):
                if os.getpriority(os.PRIO_PROCESS, pid) > 0:
                    os.setpriority(os.PRIO_PROCESS, pid, 0)

    def stop_load(self) -> None:
        """Insert no more jobs."""
        self.observed.fleet.end([LOAD], seconds=10)

    def start_load(self) -> None:
        """Insert jobs again."""
        self.start(LOAD)

    def apply_policy(self, document: str) -> None:
        """Store a whole policy document, which is in force a moment later."""
        with psycopg.connect(self.url, autocommit=True) as connection:
            store(connection, document, author="test")

    def connect(self, name: str = "observe") -> Connection[TupleRow]:
        """Open an autocommitting session, closed at the end at the latest."""
        opened = psycopg.connect(self.url, autocommit=True, application_name=name)
        self.leaving.callback(opened.close)
        return opened

    def output(self, name: str) -> str:
        """Return what a program has written; the workers' lines are the autoscaler's."""
        return "\n".join(self.said.get(name, ()))

    def thaw_all(self) -> None:
        """Let go on whatever was stopped."""
        for name in tuple(self.frozen):
            self.thaw(name)

    def _workers(self) -> dict[str, int]:
        return {
            each.name: each.pid
            for each in self.observed.targets()
            if each.container == "worker"
        }

    def _send(self, name: str, what: signal.Signals) -> None:
        """Send a signal to a program and its descendants, the oldest first."""
        for pid in self._family(name, process_table.living()):
            with suppress(ProcessLookupError):  # it has ended by itself
                os.kill(pid, what)

    def _family(self, name: str, living: Mapping[int, Process]) -> list[int]:
        """Return a program and its descendants among the living, the oldest first."""
        found = [self.pid(name)]
        for pid in found:
            found += [each.pid for each in living.values() if each.parent == pid]
        return found


@contextmanager
def watching(
    *,
    rules: Sequence[Path] = (),
    schedulers: int = 2,
    workers: tuple[int, int] = (1, 3),
    load: bool = True,
    policy: str | None = None,
    server_settings: Mapping[str, str] = MappingProxyType({}),
    environment: Mapping[str, str] = MappingProxyType({}),
) -> Generator[Watched]:
    """Run a fleet under Prometheus, every page scraped and a leader present; then stop it all.

    Args:
        rules: Complete files of rules, used as they are.
        schedulers: How many.
        workers: At least and at most; the autoscaler decides.
        load: Whether jobs are inserted.
        policy: What the policy says beside the pool; None: a little of everything.
        server_settings: PostgreSQL's.
        environment: What every program finds.
    """
    _skip_without_prometheus()
    said: dict[str, list[str]] = {}
    shape = Shape(
        schedulers=schedulers,
        workers=workers,
        load=load,
        policy=policy,
        rules=rules,
        server={"dynamic_shared_memory_type": "mmap", **server_settings},
        environment={"PYTHONPATH": SOURCES, **environment},
    )
    with ExitStack() as leaving:
        made = tempfile.TemporaryDirectory(prefix="fairlead-test-", dir=fast_folder())
        folder = Path(leaving.enter_context(made))
        folder.chmod(0o755)  # the server's account must get in
        observed = Observed(
            folder, shape, lambda name, line: said.setdefault(name, []).append(line)
        )
        try:
            leaving.enter_context(observed)
            watched = Watched(observed.prometheus, observed, leaving, said)
            leaving.callback(watched.thaw_all)
            _await_start(watched, schedulers + 1 + workers[0])
            yield watched
        except BaseException:
            _show(said)
            raise


def _skip_without_prometheus() -> None:
    try:
        prometheus.program()
    except PrometheusError as error:
        pytest.skip(str(error))


def _await_start(watched: Watched, pages: int) -> None:
    def ready() -> bool:
        found = watched.targets().values()
        return len(found) >= pages and set(found) == {"up"}

    until(ready, what="a scrape of every page", seconds=_START_SECONDS)
    watched.leader()


def _show(said: Mapping[str, Sequence[str]]) -> None:
    """Print what the programs wrote last: pytest shows it where a test failed."""
    for name, lines in said.items():
        for line in lines[-_OUTPUT_LINES:]:
            print(f"{name:12} {line}")  # noqa: T201 - what a failure is understood by
