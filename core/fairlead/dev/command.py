"""`fairlead dev`: the whole fleet on one machine, until Ctrl-C."""

import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape

from fairlead.dev import account
from fairlead.dev.binaries import PostgresError
from fairlead.dev.fleet import Fleet, Program
from fairlead.dev.lasting import Lasting
from fairlead.dev.policy import PolicyFile
from fairlead.dev.postgres import Server
from fairlead.dev.terminal import Terminal
from fairlead.migrate import migrate
from fairlead.policy import PolicyRefused
from fairlead.policy_file import read
from fairlead.service import stopping
from fairlead.settings import DatabaseSettings
from fairlead.store import connect

_WATCH_SECONDS = 0.2
_SERVER = {"max_connections": "200", "log_checkpoints": "off"}


@dataclass(frozen=True, slots=True)
class Shape:
    """How large the fleet is; `grace_seconds` is how long running jobs get at the end."""

    app: str
    workers: int
    concurrency: int
    processes: int
    grace_seconds: int


def _names_an_attribute(app: str) -> str:
    """Refuse before anything starts what no worker could load."""
    module, _, attribute = app.partition(":")
    if not module or not attribute:
        raise typer.BadParameter(f"'{app}' must be module:attribute, such as shop.jobs:tasks")
    return app


App = Annotated[
    str, typer.Option(help="Your tasks, as module:attribute.", callback=_names_an_attribute)
]
Port = Annotated[
    int | None,
    typer.Option(
        min=1, max=65535, help="The database's port; else the last one or a free one."
    ),
]


def _is_a_policy(file: Path | None) -> Path | None:
    """Refuse before anything starts what the scheduler could not follow."""
    try:
        if file is not None:
            read(file)
    except PolicyRefused as error:
        raise typer.BadParameter(str(error)) from None
    return file


PolicyOption = Annotated[
    Path | None,
    typer.Option(
        help="A policy file: stored at the start and at every save.",
        exists=True,
        dir_okay=False,
        callback=_is_a_policy,
    ),
]


def dev(
    app: App,
    workers: Annotated[int, typer.Option(min=1, max=32, help="Worker processes.")] = 2,
    concurrency: Annotated[int, typer.Option(min=1, help="Slots of each child process.")] = 10,
    processes: Annotated[int, typer.Option(min=1, help="Child processes of each worker.")] = 1,
    grace_seconds: Annotated[
        int, typer.Option(min=0, help="How long running jobs may go on after Ctrl-C.")
    ] = 10,
    data_dir: Annotated[
        Path | None, typer.Option(help="Where the database lives; it survives restarts.")
    ] = None,
    port: Port = None,
    policy: PolicyOption = None,
) -> None:
    """Run PostgreSQL, a scheduler and workers on this machine until Ctrl-C."""
    terminal = Terminal()
    shape = Shape(app, workers, concurrency, processes, grace_seconds)
    folder = data_dir or account.state_dir() / "dev" / "postgres"
    stop, again = threading.Event(), threading.Event()
    try:
        with ExitStack() as stack:
            stack.enter_context(stopping(stop=stop, again=again))
            terminal.say(f"[dim]starting PostgreSQL in {escape(str(folder))}[/]")
            server = stack.enter_context(Server(folder, port=port, settings=_SERVER))
            install(server.url)
            say = terminal.of_program
            fleet = Fleet(
                environment=_environment(server.url, coloured=terminal.coloured),
                say=say,
                folder=Path.cwd(),
            )
            terminal.say(_welcome(server.url))
            watched = () if policy is None else (PolicyFile(policy, server.url, say).look,)
            try:
                _run(fleet, shape, (Lasting(server, say).revive, *watched), stop)
            finally:
                _end(fleet, shape, again)
            terminal.say("[dim]stopped; the data stays for the next time[/]")
    except PostgresError as error:
        terminal.refuse(str(error))
        raise typer.Exit(2) from None
    if fleet.given_up:
        terminal.refuse(
            f"{', '.join(fleet.given_up)} did not stay up; "
            f"{'its' if len(fleet.given_up) == 1 else 'their'} last lines say why"
        )
        raise typer.Exit(2)


def install(url: str) -> None:
    """Bring the schema of the database at this URL to this version."""
    with connect(DatabaseSettings(database_url=url, database_url_file=None), name="dev") as own:
        migrate(own)


def programs(shape: Shape) -> tuple[Program, ...]:
    """Return the fleet's programs: one scheduler, and the workers under lasting names."""
    flags = (
        *("--app", shape.app),
        *("--concurrency", str(shape.concurrency)),
        *("--processes", str(shape.processes)),
        *("--grace-seconds", str(shape.grace_seconds)),
    )
    return (
        Program("scheduler", "fairlead_scheduler.main"),
        *(
            Program(name, "fairlead_worker.main", (*flags, "--name", name))
            for name in (f"worker-{number}" for number in range(1, shape.workers + 1))
        ),
    )


def _run(
    fleet: Fleet, shape: Shape, watched: Sequence[Callable[[], None]], stop: threading.Event
) -> None:
    """Keep the fleet and what it needs up until asked to stop, or something stays down."""
    for look in watched:
        look()
    for program in programs(shape):
        fleet.start(program)
    while not stop.wait(_WATCH_SECONDS) and not fleet.given_up:
        for look in watched:
            look()
        fleet.revive()


def _end(fleet: Fleet, shape: Shape, again: threading.Event) -> None:
    """Stop the workers, then the scheduler; being asked again hurries them."""
    workers = [name for name in fleet.names() if name != "scheduler"]
    fleet.ask(workers)
    hurried = False
    waited_seconds = 0.0
    while not fleet.wait(workers, seconds=_WATCH_SECONDS):
        waited_seconds += _WATCH_SECONDS
        if again.is_set() and not hurried:
            fleet.ask(workers)
            hurried = True
        if waited_seconds > shape.grace_seconds + 10:
            break
    fleet.end(workers, seconds=1.0)
    fleet.end([name for name in fleet.names() if name == "scheduler"], seconds=5.0)


def _environment(url: str, *, coloured: bool) -> Mapping[str, str]:
    """Return what the programs find: the database, and whether their lines have colours."""
    return {
        "FAIRLEAD_DATABASE_URL": url,
        "FAIRLEAD_LOG_FORMAT": "console",
        **({"FORCE_COLOR": "1"} if coloured else {}),
    }


def _welcome(url: str) -> str:
    return (
        f"[bold]Fairlead runs.[/] In another terminal:\n"
        f"  export FAIRLEAD_DATABASE_URL={url}\n"
        "  fairlead enqueue KIND '{}'    fairlead jobs list    fairlead top\n"
        "Ctrl-C stops everything."
    )
