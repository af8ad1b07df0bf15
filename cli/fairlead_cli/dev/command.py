"""`fairlead dev`: the whole fleet on one machine, until Ctrl-C."""

import threading
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated

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
from fairlead_cli.dev import account, scaling
from fairlead_cli.dev.binaries import PostgresError
from fairlead_cli.dev.fleet import Fleet, Program
from fairlead_cli.dev.local_pods import LocalPods
from fairlead_cli.dev.policy_file import PolicyFile
from fairlead_cli.dev.postgres import Server
from fairlead_cli.dev.supervised_server import SupervisedServer
from fairlead_cli.dev.terminal import Terminal
from fairlead_cli.dev.worker_count import POOL, WorkerCount, autoscale_of, size

_WATCH_SECONDS = 0.2
_WORKERS = 2
_SERVER = {"max_connections": "200", "log_checkpoints": "off"}


@dataclass(frozen=True, slots=True)
class Shape:
    """How large the fleet is; `grace_seconds` is how long running jobs get at the end."""

    app: str
    workers: int
    """At first, where they are scaled."""
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
# As far as a worker goes in each.
Concurrency = Annotated[int, typer.Option(min=1, max=1000, help="Slots of each child process.")]
Processes = Annotated[int, typer.Option(min=1, max=128, help="Child processes of each worker.")]
Grace = Annotated[
    int, typer.Option(min=0, max=86400, help="How long running jobs may go on after Ctrl-C.")
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


Workers = Annotated[
    WorkerCount | None,
    typer.Option(
        parser=size,
        metavar="N|MIN:MAX",
        help="Worker processes: so many, or as many between two bounds as the jobs need, "
        "which is written into the policy as `autoscale` of the pool default. Not given: what "
        "the policy says there, else 2.",
    ),
]
Objective = Annotated[
    str | None,
    typer.Option(help="With MIN:MAX: how long a job may wait; 10s unless the policy says."),
]


def dev(  # noqa: PLR0913 - each is an option of the command
    *,
    app: App,
    workers: Workers = None,
    objective: Objective = None,
    concurrency: Concurrency = 10,
    processes: Processes = 1,
    grace_seconds: Grace = 10,
    data_dir: Annotated[
        Path | None, typer.Option(help="Where the database lives; it survives restarts.")
    ] = None,
    port: Port = None,
    policy: PolicyOption = None,
) -> None:
    """Run PostgreSQL, a scheduler and workers on this machine until Ctrl-C."""
    terminal = Terminal()
    asked = _asked(workers, objective, slots=concurrency * processes, policy=policy)
    folder = data_dir or account.state_dir() / "dev" / "postgres"
    stop, again = threading.Event(), threading.Event()
    try:
        with ExitStack() as stack:
            stack.enter_context(stopping(stop=stop, again=again))
            terminal.say(f"[dim]starting PostgreSQL in {escape(str(folder))}[/]")
            server = stack.enter_context(Server(folder, port=port, settings=_SERVER))
            install(server.url)
            bounds = _bounds(server.url, workers, asked, policy)
            number = bounds.min if bounds else workers.least if workers else _WORKERS
            shape = Shape(app, number, concurrency, processes, grace_seconds)
            is_fixed = workers is not None and workers.is_fixed
            say = terminal.of_program
            fleet = Fleet(
                environment=_environment(server.url, coloured=terminal.coloured),
                say=say,
                folder=Path.cwd(),
            )
            terminal.say(_welcome(server.url, bounds))
            watched = () if policy is None else (PolicyFile(policy, server.url, say).look,)
            try:
                with _scaled(fleet, shape, server.url, terminal, on=not is_fixed) as scale:
                    first = programs(shape, scaled=not is_fixed)
                    revive = SupervisedServer(server, say).revive
                    _run(fleet, first, (revive, *watched, *scale), stop)
            finally:
                _end(fleet, shape, again)
            terminal.say("[dim]stopped; the data stays for the next time[/]")
    except (PostgresError, PolicyRefused) as error:
        terminal.refuse(str(error))
        raise typer.Exit(2) from None
    _refuse_given_up(fleet, terminal)


def _refuse_given_up(fleet: Fleet, terminal: Terminal) -> None:
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


def programs(shape: Shape, *, scaled: bool) -> tuple[Program, ...]:
    """Return the fleet's programs: one scheduler, and the workers under lasting names.

    Workers that are scaled are started by what scales them.
    """
    names = () if scaled else (f"worker-{number}" for number in range(1, shape.workers + 1))
    return (
        Program("scheduler", "fairlead_scheduler.main"),
        *(_worker(shape, name, {}) for name in names),
    )


def _worker(shape: Shape, name: str, environment: Mapping[str, str]) -> Program:
    """Return the program of one worker."""
    flags = (
        *("--app", shape.app),
        *("--concurrency", str(shape.concurrency)),
        *("--processes", str(shape.processes)),
        *("--grace-seconds", str(shape.grace_seconds)),
    )
    return Program(name, "fairlead_worker.main", (*flags, "--name", name), environment)


def _asked(
    workers: WorkerCount | None, objective: str | None, *, slots: int, policy: Path | None
) -> Mapping[str, object] | None:
    """Return what the options say of scaling, None if they do not; refuse what is at odds."""
    if workers is None or workers.is_fixed:
        if objective is not None:
            raise typer.BadParameter("--objective needs --workers MIN:MAX")
        return None
    if policy is not None:
        said = f"--workers {workers} writes a policy, and so does --policy"
        raise typer.BadParameter(f"{said}: put `autoscale` into the file, or leave one out")
    return autoscale_of(workers, objective=objective, slots=slots)


def _bounds(
    url: str,
    workers: WorkerCount | None,
    asked: Mapping[str, object] | None,
    policy: Path | None,
) -> Autoscale | None:
    """Return how the workers are scaled, with what was asked for stored; None: they are not.

    Raises:
        PolicyRefused: what was asked for does not go with the policy that is in force.
    """
    if asked is not None:
        try:
            scaling.write_policy(url, asked, reason=f"--workers {workers}")
        except PolicyRefused as error:
            said = f"--workers {workers} does not go with the policy that is in force"
            raise PolicyRefused(f"{said}: {error}") from None
    elif workers is not None:
        return None
    return scaling.of_policy(read(policy)[1]) if policy else scaling.in_force(url)


@contextmanager
def _scaled(
    fleet: Fleet, shape: Shape, url: str, terminal: Terminal, *, on: bool
) -> Generator[tuple[Callable[[], None], ...]]:
    """Have the workers scaled if that is on; yield what is to be called for it.

    Where the policy says nothing of them they stay as many as they are, until a policy does.
    """
    if not on:
        yield ()
        return
    lines = log.LineWriter("autoscaler", terminal.of_program, coloured=terminal.coloured)
    log.configure("console", to=lines)
    with closing(scaling.Rows(url)) as serving:
        make = partial(_worker, shape)
        pods = LocalPods(fleet, make, serving, pool=POOL, replicas=shape.workers)
        with scaling.Scaling(pods, url) as scales:
            yield (scales.look,)


def _run(
    fleet: Fleet,
    first: Sequence[Program],
    watched: Sequence[Callable[[], None]],
    stop: threading.Event,
) -> None:
    """Keep the fleet and what it needs up until asked to stop, or something stays down."""
    for program in first:
        fleet.start(program)
    for look in watched:
        look()
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


def _welcome(url: str, bounds: Autoscale | None) -> str:
    scaled = (
        f"The workers are scaled from {bounds.min} to {bounds.max} by the policy: "
        "`fairlead autoscaler` says why.\n"
        if bounds
        else ""
    )
    return (
        f"[bold]Fairlead runs.[/] In another terminal:\n"
        f"  export FAIRLEAD_DATABASE_URL={url}\n"
        "  fairlead enqueue KIND '{}'    fairlead jobs list    fairlead top\n"
        f"{scaled}"
        "Ctrl-C stops everything."
    )
