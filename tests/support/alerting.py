"""A real fleet whose alerts are provoked, what provokes them, and the responder that they call.

Every duration of the rules is a fiftieth of the real one; those are tried in tests/alerts. What
the fleet itself takes, such as a change of the leader, is as long as ever, so no condition has
to last for less than that.
"""

import os
import re
import signal
import threading
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from decimal import Decimal
from math import ceil
from pathlib import Path
from time import monotonic
from types import MappingProxyType

import psycopg
from psycopg import Connection
from psycopg.rows import TupleRow

import fairlead
from docs.generate import alerts
from docs.generate.alerts import Choice
from tests.support import runbooks
from tests.support.asking import Asking
from tests.support.beside import beside
from tests.support.observing import NAMESPACE, Watched, watching
from tests.support.waiting import until

SCALE = Decimal("0.02")
"""The shortest window is then six scrapes long, and no test waits for minutes."""
CALM_SECONDS = 180.0
"""Within which every alert is silent again: the longest window, on a machine at work."""
_LEAST_FOR_SECONDS = 10
"""For how long a condition has to last at least, unless its alert fires at once."""
_STEP_SECONDS = 0.5
_VARIABLE = re.compile(r"\$(\w+)")
_FOR = re.compile(r"^( *for: )([1-9]\d*)s$", re.MULTILINE)
_TENANTS = ("one", "two", "starved")
_IDLE = """
    SELECT pid FROM pg_stat_activity WHERE application_name = %s AND state = 'idle'
"""

Jobs = Callable[[], Sequence[fairlead.NewJob]]


@dataclass(frozen=True, slots=True)
class Reader:
    """The responder to an alert, who has no more than its page."""

    alert: str
    url: str
    folder: Path
    known: dict[str, str] = field(default_factory=dict[str, str])

    def look(self) -> tuple[str, ...]:
        """Return what the commands of the diagnosis say, if what they name is known."""
        looking, _ = runbooks.halves(self.alert)
        return self._run(looking)

    def mend(self, beginning: str = "") -> tuple[str, ...]:
        """Do what the page has for it, or what begins so, and return what that says."""
        _, mending = runbooks.halves(self.alert)
        return self._run([each for each in mending if each.startswith(beginning)])

    def _run(self, commands: Sequence[str]) -> tuple[str, ...]:
        """Run those of them whose variables are known, without a cluster to ask."""
        given = {"FAIRLEAD_DATABASE_URL": self.url, **self.known}
        texts: list[str] = []
        for command in commands:
            named = set(_VARIABLE.findall(command))
            if command.startswith("kubectl ") or not named <= given.keys():
                continue
            said = runbooks.run(command, url=self.url, folder=self.folder, given=self.known)
            assert said.served(command), f"{command}: {said}"
            texts.append(said.out)
        assert texts, f"no command of {self.alert} could be run"
        return tuple(texts)


@contextmanager
def alarmed(
    folder: Path,
    *,
    jobs: Jobs | None = None,
    workers: tuple[int, int] = (1, 3),
    oldest_ready_seconds: int = 300,
    objectives: Mapping[str, Decimal] = MappingProxyType({}),
    server_settings: Mapping[str, str] = MappingProxyType({}),
    environment: Mapping[str, str] = MappingProxyType({}),
) -> Generator[Watched]:
    """Run a fleet with a little to do, and its alerts.

    Args:
        folder: An empty one, for the rules.
        jobs: What is inserted twice a second; None: of three tenants one each.
        workers: At least and at most.
        oldest_ready_seconds: The rules' value, which no scale changes.
        objectives: The rules' objectives of pools.
        server_settings: PostgreSQL's.
        environment: What every program finds.
    """
    rules = folder / "rules.yaml"
    choice = Choice(
        namespace=NAMESPACE,
        scale=SCALE,
        oldest_ready_seconds=Decimal(oldest_ready_seconds),
        objectives=objectives,
    )
    write_rules(rules, choice)
    with (
        watching(
            rules=[rules],
            workers=workers,
            load=False,
            policy="",
            server_settings=server_settings,
            environment=environment,
        ) as running,
        feeding(running.url, jobs or letters),
    ):
        running.wait_for("sum(rate(fairlead_jobs_started_total[15s])) > 0", seconds=90)
        yield running


def write_rules(path: Path, choice: Choice) -> None:
    """Write a file of rules of which no condition has to last for less than a fleet takes."""
    path.write_text(_FOR.sub(_not_too_short, alerts.render(choice)), "utf-8")


def _not_too_short(match: re.Match[str]) -> str:
    return f"{match[1]}{max(int(match[2]), _LEAST_FOR_SECONDS)}s"


def letters() -> Sequence[fairlead.NewJob]:
    """Return a job of each tenant that takes a moment and succeeds."""
    return [fairlead.NewJob(kind="send", queue="mail", tenant=each) for each in _TENANTS]


@contextmanager
def feeding(url: str, jobs: Jobs) -> Generator[None]:
    """Insert jobs twice a second until the end of the block."""

    def feed(stop: threading.Event) -> None:
        with psycopg.connect(url, autocommit=True, application_name="shop") as own:
            while not stop.wait(_STEP_SECONDS):
                fairlead.enqueue_many(own, jobs())

    with beside(feed, "feed"):
        yield


def await_calm(fleet: Asking) -> None:
    """Wait until no alert fires or is about to, whatever was done to the fleet before."""
    until(lambda: not fleet.alerts(), what="silence of every alert", seconds=CALM_SECONDS)
    assert [] == fleet.rule_problems()


@contextmanager
def alone(fleet: Asking, *names: str) -> Generator[None]:
    """Expect these alerts to fire in the block, each of them, and no other one."""
    began = fleet.query("time()")[0].value
    yield
    since = ceil(fleet.query("time()")[0].value - began)
    firing = f'max_over_time(ALERTS{{alertstate="firing"}}[{since}s])'

    found = fleet.query(f"group by (alertname) ({firing})")

    fired = {each.labels["alertname"] for each in found}
    lines = [line for name in fired - set(names) for line in _history(fleet, name, since)]
    wrong = f"{sorted(fired)} fired, and {sorted(names)} are to"
    assert set(names) == fired, "\n".join([wrong, *lines])


def _history(fleet: Asking, name: str, since: int) -> Iterator[str]:
    """Yield when an alert was pending or fired in the last seconds, and what its rule saw."""
    began = fleet.query("time()")[0].value - since
    for state in fleet.query_range(f'ALERTS{{alertname="{name}"}}', seconds=since):
        first, last = state.points[0][0] - began, state.points[-1][0] - began
        yield f"{name} was {state.labels['alertstate']} from {first:.0f} s to {last:.0f} s"
    for seen in fleet.query_range(fleet.expression(name), seconds=since):
        values = ", ".join(f"{at - began:.0f} s: {value:g}" for at, value in seen.points)
        yield f"{name} saw {dict(seen.labels)} {values}"


def called(fleet: Watched, name: str, folder: Path, *, seconds: float) -> Reader:
    """Return the responder to an alert that fires within so many seconds; print how many."""
    return Reader(name, fleet.url, folder, await_fired(fleet, name, seconds=seconds))


def await_fired(fleet: Asking, name: str, *, seconds: float) -> dict[str, str]:
    """Return the variables of a page whose alert fires within so many seconds."""
    began = monotonic()
    labels = fleet.wait_for_alert(name, seconds).labels
    print(f"{name} fired after {monotonic() - began:.1f} s")  # noqa: T201 - `make chaos` shows it
    return {key.upper(): labels[key] for key in ("queue", "pool") if key in labels}


@contextmanager
def pausing(fleet: Watched, queue: str, tenant: str | None = None) -> Generator[None]:
    """Pause a queue or a tenant; at the end it is resumed, if it is still paused."""
    with fleet.connect() as db:
        db.execute("SELECT fairlead.pause(%s, %s)", [queue, tenant])
        try:
            yield
        finally:
            db.execute("SELECT fairlead.resume(%s, %s)", [queue, tenant])


def withdraw(fleet: Watched, queue: str, tenant: str | None = None) -> None:
    """Cancel what is left of a queue, or of one tenant in it."""
    with fleet.connect() as db:
        db.execute(
            "SELECT fairlead.cancel(j.id) FROM fairlead.jobs j"
            " WHERE j.queue = %(queue)s AND j.tenant = coalesce(%(tenant)s, j.tenant)",
            {"queue": queue, "tenant": tenant},
        )


@contextmanager
def hanging(fleet: Watched, session: str) -> Generator[None]:
    """Have the server's process behind one of the leader's sessions stand still.

    It is stopped while it has nothing to do, so that it holds nothing that others need.
    """
    name = f"fairlead scheduler {session}"
    with fleet.connect() as db:
        pid = until(lambda: _stopped(db, name), what=f"an idle {name}", seconds=30)
        try:
            yield
        finally:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGCONT)


def _stopped(db: Connection[TupleRow], name: str) -> int | None:
    """Stop the process of an idle session; None: it has just got something to do."""
    for (pid,) in db.execute(_IDLE, [name]).fetchall():
        os.kill(pid, signal.SIGSTOP)
        if (pid,) in db.execute(_IDLE, [name]).fetchall():
            return int(pid)
        os.kill(pid, signal.SIGCONT)
    return None
