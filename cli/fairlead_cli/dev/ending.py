"""What `fairlead dev` waits for after a Ctrl-C: the running jobs by kind, and how long."""

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from socket import gethostname
from time import monotonic

import psycopg

from fairlead.db.connect import Unreachable, connect
from fairlead.db.statements import load
from fairlead.settings import DatabaseSettings
from fairlead_cli.dev.fleet import Fleet
from fairlead_cli.dev.programs import CONSOLE, SCHEDULER

_POLL_SECONDS = 0.2
_FIRST_SECONDS = 0.8
"""Idle workers have ended by then, and nothing need be said."""
_LATE_SECONDS = 10.0
"""After the grace: workers need a moment to hand back what they have."""
_EVERY_SECONDS = 5.0
_KINDS_SHOWN = 5
_IMPATIENT = {"statement_timeout": "'2s'"}
"""The fleet ends whether or not the database answers."""


@dataclass(frozen=True, slots=True)
class Running:
    """The jobs of one kind that run, and how long the oldest of them has."""

    kind: str
    jobs: int
    longest_seconds: float


Ask = Callable[[Sequence[str]], tuple[Running, ...] | None]
"""Tells what runs in the workers of these names; None: that is not known now."""


def end(
    fleet: Fleet,
    *,
    again: threading.Event,
    grace_seconds: float,
    ask: Ask,
    say: Callable[[str], None],
) -> None:
    """Stop the workers, then the others, and say now and then what is waited for.

    Args:
        fleet: what is ended.
        again: set when a second Ctrl-C hurries the workers.
        grace_seconds: how long jobs may go on.
        ask: tells what runs.
        say: prints a line.
    """
    workers = [name for name in fleet.names() if name not in (CONSOLE, SCHEDULER)]
    fleet.ask(workers)
    began_seconds = monotonic()
    due_seconds, hurried = _FIRST_SECONDS, False
    while not fleet.wait(workers, seconds=_POLL_SECONDS):
        waited_seconds = monotonic() - began_seconds
        if again.is_set() and not hurried:
            fleet.ask(workers)
            hurried, due_seconds = True, waited_seconds
        if waited_seconds >= due_seconds:
            due_seconds = waited_seconds + _EVERY_SECONDS
            alive = [name for name in workers if not fleet.wait([name], seconds=0)]
            left_seconds = 0 if hurried else max(0, round(grace_seconds - waited_seconds))
            say(sentence(ask(alive), alive, left_seconds))
        if waited_seconds > grace_seconds + _LATE_SECONDS:
            break
    fleet.end(workers, seconds=1.0)
    fleet.end(list(fleet.names()), seconds=5.0)


def sentence(running: Sequence[Running] | None, names: Sequence[str], left_seconds: int) -> str:
    """Return what is waited for, and for how long at most.

    Args:
        running: the jobs; None: not known.
        names: of the workers.
        left_seconds: until running jobs are cut short.
    """
    if not running:
        return f"waiting for {', '.join(names)} to end"
    number = sum(each.jobs for each in running)
    shown = [_of_a_kind(each) for each in running[:_KINDS_SHOWN]]
    if len(running) > _KINDS_SHOWN:
        shown.append(f"{len(running) - _KINDS_SHOWN} more kinds")
    jobs = f"{number} job{'s' if number > 1 else ''}: {', '.join(shown)}"
    if left_seconds == 0:
        return f"handing back {jobs}; this uses no attempt"
    back = "they go" if number > 1 else "it goes"
    return (
        f"waiting up to {left_seconds} s for {jobs}. Ctrl-C again: {back} back now, which "
        "uses no attempt"
    )


def _of_a_kind(running: Running) -> str:
    seconds = f"{running.longest_seconds:.0f} s"
    if running.jobs == 1:
        return f"{running.kind} (for {seconds})"
    return f"{running.jobs} {running.kind} (the oldest for {seconds})"


def asking(url: str) -> Ask:
    """Return what asks the database at this URL."""
    settings = DatabaseSettings(
        database_url=url, database_url_file=None, connect_timeout_seconds=2
    )

    def ask(names: Sequence[str]) -> tuple[Running, ...] | None:
        values = {"names": list(names), "host": gethostname()}
        try:
            with connect(settings, name="dev end", more=_IMPATIENT) as connection:
                rows = connection.execute(load("fairlead_cli.dev", "running"), values)
                return tuple(
                    Running(str(kind), int(str(jobs)), float(str(seconds)))
                    for kind, jobs, seconds in rows
                )
        except (Unreachable, psycopg.Error):
            return None

    return ask
