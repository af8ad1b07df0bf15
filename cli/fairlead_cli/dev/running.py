"""A run of `fairlead dev`: the database, the fleet on it, and what happens until Ctrl-C."""

import os
import threading
from collections.abc import Callable, Generator, Mapping
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import typer
from rich.markup import escape

from fairlead.db.connect import connect
from fairlead.db.migrate import migrate
from fairlead.policy import PolicyRefused
from fairlead.policy.autoscale import Autoscale
from fairlead.policy_storage import read
from fairlead.runtime import log
from fairlead.service import stopping
from fairlead.settings import DatabaseSettings
from fairlead_cli.dev import own_database, project, scaling
from fairlead_cli.dev.ending import asking, end
from fairlead_cli.dev.fleet import Fleet
from fairlead_cli.dev.local_console import console_port, operator_url
from fairlead_cli.dev.local_pods import LocalPods
from fairlead_cli.dev.policy_file import PolicyFile
from fairlead_cli.dev.postgres import Server
from fairlead_cli.dev.programs import Shape, environment, programs, worker
from fairlead_cli.dev.reload import Reload, folders
from fairlead_cli.dev.supervised_server import SupervisedServer
from fairlead_cli.dev.terminal import Terminal
from fairlead_cli.dev.worker_count import POOL, WorkerCount

_WATCH_SECONDS = 0.2
_WORKERS = 2
_SERVER = {"max_connections": "200", "log_checkpoints": "off"}

Look = Callable[[], None]
"""Called a few times a second while the fleet runs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What the options say of a run."""

    app: str
    workers: WorkerCount | None
    """None: as the policy says."""
    autoscale: Mapping[str, object] | None
    """What is to be written into the policy; None: nothing."""
    concurrency: int
    processes: int
    grace_seconds: int
    policy: Path | None
    reload: bool
    console_port: int | None
    """0: a free one; None: the usual one, or a free one where that is taken."""


@dataclass(frozen=True, slots=True)
class Database:
    """Where the fleet runs."""

    url: str
    looks: tuple[Look, ...]
    """What keeps it up."""
    is_own: bool
    """Whether it is the person's, and no server of ours."""


def run(wanted: Wanted, terminal: Terminal, *, data_dir: Path | None, port: int | None) -> None:
    """Run the fleet until Ctrl-C, or until something stays down.

    Raises:
        PostgresError: there is no database to run on.
        PolicyRefused: what the options ask for does not go with the policy in force.
        typer.Exit: a program did not stay up.
    """
    stop, again = threading.Event(), threading.Event()
    with ExitStack() as stack:
        stack.enter_context(stopping(stop=stop, again=again))
        database = _database(stack, terminal, data_dir=data_dir, port=port)
        bounds = _bounds(database.url, wanted)
        port, said = console_port(database.url, wanted.console_port)
        acts = operator_url(database.url, os.environ, is_own=database.is_own)
        shape = _shape(wanted, bounds, port, acts)
        fleet = Fleet(
            environment=environment(database.url, coloured=terminal.coloured),
            say=terminal.of_program,
            folder=Path.cwd(),
        )
        terminal.say(_welcome(database, bounds, said))
        try:
            _run(fleet, wanted, shape, database, terminal, stop)
        finally:
            end(
                fleet,
                again=again,
                grace_seconds=shape.grace_seconds,
                ask=asking(database.url),
                say=lambda line: terminal.say(escape(line)),
            )
        terminal.say("[dim]stopped; the data stays for the next time[/]")
    _refuse_given_up(fleet, terminal)


def _database(
    stack: ExitStack, terminal: Terminal, *, data_dir: Path | None, port: int | None
) -> Database:
    """Start the project's server, or get ready the database that the environment names.

    Raises:
        PostgresError: it is not to be had, or both are named.
    """
    folder = data_dir or project.data_dir(make=False)
    own = own_database.instead_of(folder, data_dir=data_dir, port=port)
    if own is not None:
        for said in own_database.prepare(own, release=os.environ.get("FAIRLEAD_RELEASE", "")):
            terminal.say(escape(said))
        return Database(own, (), is_own=True)
    os.environ.pop("FAIRLEAD_DATABASE_PASSWORD_COMMAND", None)  # this server asks for none
    folder = data_dir or project.data_dir(make=True)
    terminal.say(f"[dim]starting PostgreSQL in {escape(str(folder))}[/]")
    server = stack.enter_context(Server(folder, port=port, settings=_SERVER))
    install(server.url)
    revive = SupervisedServer(server, terminal.of_program).revive
    return Database(server.url, (revive,), is_own=False)


def install(url: str) -> None:
    """Bring the schema of the database at this URL to this version."""
    with connect(DatabaseSettings(database_url=url, database_url_file=None), name="dev") as own:
        migrate(own)


def _shape(
    wanted: Wanted, bounds: Autoscale | None, port: int | None, operator_url: str
) -> Shape:
    workers = wanted.workers.least if wanted.workers else _WORKERS
    return Shape(
        wanted.app,
        bounds.min if bounds else workers,
        wanted.concurrency,
        wanted.processes,
        wanted.grace_seconds,
        wanted.reload,
        port,
        operator_url,
    )


def _bounds(url: str, wanted: Wanted) -> Autoscale | None:
    """Return how the workers are scaled, with what was asked for stored; None: they are not.

    Raises:
        PolicyRefused: what was asked for does not go with the policy that is in force.
    """
    workers, policy = wanted.workers, wanted.policy
    if wanted.autoscale is not None:
        try:
            scaling.write_policy(url, wanted.autoscale, reason=f"--workers {workers}")
        except PolicyRefused as error:
            said = f"--workers {workers} does not go with the policy that is in force"
            raise PolicyRefused(f"{said}: {error}") from None
    elif workers is not None:
        return None
    return scaling.of_policy(read(policy)[1]) if policy else scaling.in_force(url)


def _run(
    fleet: Fleet,
    wanted: Wanted,
    shape: Shape,
    database: Database,
    terminal: Terminal,
    stop: threading.Event,
) -> None:
    """Keep the fleet and what it needs up until asked to stop, or something stays down."""
    say, looks = terminal.of_program, list(database.looks)
    if wanted.policy is not None:
        looks.append(PolicyFile(wanted.policy, database.url, say).look)
    is_fixed = wanted.workers is not None and wanted.workers.is_fixed
    with ExitStack() as stack:
        looks += stack.enter_context(
            _scaled(fleet, shape, database.url, terminal, on=not is_fixed)
        )
        if wanted.reload:
            reload = stack.enter_context(Reload(fleet, folders(Path.cwd()), say))
            looks.append(reload.look)
        for program in programs(shape, scaled=not is_fixed):
            fleet.start(program)
        for look in looks:
            look()
        while not stop.wait(_WATCH_SECONDS) and not fleet.given_up:
            for look in looks:
                look()
            fleet.revive()


@contextmanager
def _scaled(
    fleet: Fleet, shape: Shape, url: str, terminal: Terminal, *, on: bool
) -> Generator[tuple[Look, ...]]:
    """Have the workers scaled if that is on; yield what is to be called for it.

    Where the policy says nothing of them they stay as many as they are, until a policy does.
    """
    if not on:
        yield ()
        return
    lines = log.LineWriter("autoscaler", terminal.of_program, coloured=terminal.coloured)
    log.configure("console", to=lines)
    with closing(scaling.Rows(url)) as serving:
        make = partial(worker, shape)
        pods = LocalPods(fleet, make, serving, pool=POOL, replicas=shape.workers)
        with scaling.Scaling(pods, url) as scales:
            yield (scales.look,)


def _refuse_given_up(fleet: Fleet, terminal: Terminal) -> None:
    if fleet.given_up:
        terminal.refuse(
            f"{', '.join(fleet.given_up)} did not stay up; "
            f"{'its' if len(fleet.given_up) == 1 else 'their'} last lines say why"
        )
        raise typer.Exit(2)


def _welcome(database: Database, bounds: Autoscale | None, console: str) -> str:
    scaled = (
        f"The workers are scaled from {bounds.min} to {bounds.max} by the policy: "
        "`fairlead autoscaler` says why.\n"
        if bounds
        else ""
    )
    where = (
        "In another terminal, with the same database set"
        if database.is_own
        else f"In another terminal:\n  export FAIRLEAD_DATABASE_URL={database.url}"
    )
    return (
        f"[bold]Fairlead runs.[/] {where}\n"
        "  fairlead enqueue KIND '{}'    fairlead jobs list    fairlead top\n"
        f"{escape(console)}\n"
        f"{scaled}"
        "Ctrl-C stops everything."
    )
