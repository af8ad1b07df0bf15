"""The demo's course: start a fleet, give it work, kill what leads and what works, count."""

import random
import tempfile
from collections.abc import Sequence
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path
from threading import Event
from time import monotonic
from typing import Annotated

import typer
from rich.console import Console
from rich.live import Live

from fairlead.demo import picture, report, sources
from fairlead.demo.watch import Reading, draw, line, read
from fairlead.dev import account
from fairlead.dev.binaries import PostgresError
from fairlead.dev.command import install
from fairlead.dev.fleet import Fleet, Program
from fairlead.dev.postgres import Server
from fairlead.service import stopping
from fairlead.settings import DatabaseSettings
from fairlead.sql import load
from fairlead.store import Connection, connect

_SCHEDULERS = ("scheduler-a", "scheduler-b")
_WORKERS = ("worker-1", "worker-2")
_SLOTS = 2
_URGENT = 200
_REMINDERS = 40
_BURST_AT = 0.25
_KILL_WORKER_AT = 0.4
_KILL_LEADER_AT = 0.55
_LOOK_SECONDS = 0.25
_PLAIN_SECONDS = 2.0
_GIVE_UP_SECONDS = 180.0
_PICTURES = (".svg", ".png")


def _drawable(plot: Path) -> Path:
    """Refuse at the start what the picture could not be written to at the end."""
    if plot.suffix not in _PICTURES:
        raise typer.BadParameter(f"'{plot}' must end with {' or '.join(_PICTURES)}")
    if not plot.absolute().parent.is_dir():
        raise typer.BadParameter(f"'{plot}' is in a folder that is not there")
    return plot


def demo(
    plot: Annotated[
        Path, typer.Option(help="Where the picture goes, .svg or .png.", callback=_drawable)
    ] = Path("fairlead-demo.svg"),
    seed: Annotated[int, typer.Option(help="Which worker is killed.")] = 1,
    *,
    plain: Annotated[
        bool, typer.Option("--plain", help="Progress lines instead of the live view.")
    ] = False,
) -> None:
    """Measure the Python source on this machine with a fleet, and kill parts of it midway."""
    console = Console()
    try:
        good = _demo(console, plot=plot, seed=seed, live=console.is_terminal and not plain)
    except PostgresError as error:
        Console(stderr=True, soft_wrap=True).print(
            f"fairlead: {error}", markup=False, highlight=False
        )
        raise typer.Exit(2) from None
    raise typer.Exit(0 if good else 1)


def _demo(console: Console, *, plot: Path, seed: int, live: bool) -> bool:
    stop, again = Event(), Event()
    with ExitStack() as stack:
        stack.enter_context(stopping(stop=stop, again=again))
        folder = Path(stack.enter_context(_scratch()))
        log = stack.enter_context((folder / "fleet.log").open("w"))
        work = sources.find()
        console.print(
            f"{work.files:,} Python files of {len(work.packages)} packages, one tenant each"
            + (f" ({work.left_out:,} more left out for time)" if work.left_out else "")
        )
        server = stack.enter_context(Server(folder / "postgres"))
        install(server.url)
        settings = DatabaseSettings(database_url=server.url, database_url_file=None)
        own = stack.enter_context(connect(settings, name="demo"))
        fleet = Fleet(
            environment={"FAIRLEAD_DATABASE_URL": server.url, "FAIRLEAD_LOG_FORMAT": "json"},
            say=lambda name, text: print(name, text, file=log, flush=True),
            folder=folder,
        )
        stack.callback(lambda: fleet.end(fleet.names(), seconds=10.0))
        course = _Course(own, fleet, work, random.Random(seed))
        course.begin()
        ended = course.watch(console, live=live, stop=stop)
        if not ended:
            console.print(f"the demo was stopped or did not end; {_tail(folder / 'fleet.log')}")
            return False
        return course.finish(console, plot)


class _Course:
    """One run, from the first INSERT to the table."""

    def __init__(
        self, own: Connection, fleet: Fleet, work: sources.Sources, chance: random.Random
    ) -> None:
        self._own = own
        self._fleet = fleet
        self._totals = {name: len(paths) for name, paths in work.packages}
        # The large packages come first, all at once; the small ones one by one beside them.
        small = report.small_tenants(self._totals)
        self._coming = [package for package in work.packages if package[0] in small]
        self._flood = [package for package in work.packages if package[0] not in small]
        self._chance = chance
        self._began = monotonic()
        self._began_at = datetime.now(UTC)
        self._events: list[tuple[float, str]] = []
        self._ahead = [
            (_BURST_AT, self._burst),
            (_KILL_WORKER_AT, self._kill_worker),
            (_KILL_LEADER_AT, self._kill_leader),
        ]

    def begin(self) -> None:
        """Insert the flood and the nightly roll-ups, then start the fleet."""
        self._own.execute(load("fairlead.demo", "create"))
        self._insert(self._flood)
        self._own.execute(load("fairlead.demo", "schedule"), {"packages": list(self._totals)})
        for name in _SCHEDULERS:
            self._fleet.start(Program(name, "fairlead_scheduler.main"))
        for name in _WORKERS:
            self._fleet.start(
                Program(
                    name,
                    "fairlead_worker.main",
                    (
                        "--app",
                        "fairlead.demo.app:tasks",
                        "--concurrency",
                        str(_SLOTS),
                        "--name",
                        name,
                    ),
                )
            )
        self._began, self._began_at = monotonic(), datetime.now(UTC)

    def watch(self, console: Console, *, live: bool, stop: Event) -> bool:
        """Show the run until every job has ended; answer whether that came about."""
        said_at = -_PLAIN_SECONDS
        with (
            Live(console=console, refresh_per_second=4, transient=True)
            if live
            else ExitStack() as view
        ):
            while not stop.wait(_LOOK_SECONDS):
                self._fleet.revive()
                reading = self._look()
                self._arrive(reading)
                if isinstance(view, Live):
                    view.update(draw(reading))
                elif reading.seconds - said_at >= _PLAIN_SECONDS:
                    console.print(line(reading), highlight=False, soft_wrap=True)
                    said_at = reading.seconds
                if (
                    self._ahead
                    and reading.fraction >= self._ahead[0][0]
                    and self._ahead[0][1]()
                ):
                    self._ahead.pop(0)
                    if not isinstance(view, Live):
                        said = f"        {self._events[-1][1]}"
                        console.print(said, highlight=False, soft_wrap=True)
                if not self._ahead and reading.fraction > 0.97:
                    self._own.execute(load("fairlead.demo", "unschedule"))
                if not self._ahead and reading.unfinished + reading.coming == 0:
                    return True
                if reading.seconds > _GIVE_UP_SECONDS or self._fleet.given_up:
                    return False
        return False

    def finish(self, console: Console, plot: Path) -> bool:
        """Print the table, draw the picture, answer whether nothing was lost or doubled."""
        result = report.verdict(self._own)
        waited = report.waits(self._own, self._began_at)
        console.print(report.table(result, waited, self._totals))
        picture.draw(plot, waited, self._totals, self._events)
        console.print(f"the picture is in {plot}", highlight=False)
        return result.good

    def _insert(self, packages: Sequence[tuple[str, tuple[Path, ...]]]) -> None:
        pairs = [(name, str(path)) for name, paths in packages for path in paths]
        self._own.execute(
            load("fairlead.demo", "enqueue_files"),
            {"packages": [name for name, _ in pairs], "paths": [path for _, path in pairs]},
        )

    def _arrive(self, reading: Reading) -> None:
        """Insert the next small package, once the fleet is at work."""
        if reading.ended and self._coming:
            self._insert([self._coming.pop(0)])

    def _look(self) -> Reading:
        return read(
            self._own,
            seconds=monotonic() - self._began,
            coming=sum(len(paths) for _, paths in self._coming),
            totals=self._totals,
            names={self._fleet.pid(name): name for name in self._fleet.names()},
            events=[f"{seconds:5.1f} s  {what}" for seconds, what in self._events],
        )

    def _note(self, what: str) -> None:
        self._events.append((monotonic() - self._began, what))

    def _burst(self) -> bool:
        self._own.execute(
            load("fairlead.demo", "enqueue_urgent"),
            {"urgent": _URGENT, "reminders": _REMINDERS},
        )
        self._note(f"{_URGENT} urgent jobs and {_REMINDERS} reminders inserted")
        return True

    def _kill_worker(self) -> bool:
        name = self._chance.choice(_WORKERS)
        self._fleet.kill(name)
        self._note(f"{name} killed with SIGKILL")
        return True

    def _kill_leader(self) -> bool:
        name = self._look().leader
        if name not in _SCHEDULERS:
            return False  # between two leaders: at the next look
        self._fleet.kill(name)
        self._note(f"{name}, the leader, killed with SIGKILL")
        return True


def _scratch() -> "tempfile.TemporaryDirectory[str]":
    """Return a folder that the server's account can enter, removed at the end."""
    folder = tempfile.TemporaryDirectory(prefix="fairlead-demo-", dir=account.state_dir())
    Path(folder.name).chmod(0o755)  # the server's account must enter it
    return folder


def _tail(path: Path) -> str:
    lines = path.read_text(errors="replace").splitlines()[-12:]
    return "the fleet's last lines:\n" + "\n".join(lines)
