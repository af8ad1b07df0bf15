"""The options of `fairlead dev`, and what is refused before anything starts."""

from importlib.machinery import PathFinder
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated

import typer

from fairlead.policy import PolicyRefused
from fairlead.policy_storage import read
from fairlead_cli.dev.reload import refuse_without_watchfiles
from fairlead_cli.dev.worker_count import WorkerCount, size


def _names_an_attribute(app: str | None) -> str | None:
    """Refuse before anything starts what no worker could load."""
    if app is None:  # of `psql` and `reset`
        return None
    module, _, attribute = app.partition(":")
    if not module or not attribute:
        raise typer.BadParameter(f"'{app}' must be module:attribute, such as shop.jobs:tasks")
    return app


def refuse_without_module(app: str) -> None:
    """Refuse, before anything starts, an application that no folder holds."""
    module = app.partition(":")[0]
    package = module.partition(".")[0]
    if not package or not (PathFinder.find_spec(package, [""]) or find_spec(package)):
        raise typer.BadParameter(
            f"'{app}' is in no folder that Python searches: start this in the one that holds "
            f"{package or module}",
            param_hint="'--app'",
        )


App = Annotated[
    str | None,
    typer.Option(
        help="Your tasks, as module:attribute.  [required]", callback=_names_an_attribute
    ),
]
# As far as a worker goes in each.
Concurrency = Annotated[int, typer.Option(min=1, max=1000, help="Slots of each child process.")]
Processes = Annotated[int, typer.Option(min=1, max=128, help="Child processes of each worker.")]
Grace = Annotated[
    int, typer.Option(min=0, max=86400, help="How long running jobs may go on after Ctrl-C.")
]
Reload = Annotated[
    bool,
    typer.Option(
        "--reload",
        help="Start the workers anew when Python files are saved.",
        callback=refuse_without_watchfiles,
    ),
]
DataDir = Annotated[
    Path | None,
    typer.Option(help="Where the database lives instead; it survives restarts."),
]
Port = Annotated[
    int | None,
    typer.Option(
        min=1, max=65535, help="The database's port; else the last one or a free one."
    ),
]
ConsolePort = Annotated[
    int | None,
    typer.Option(
        min=0,
        max=65535,
        envvar="FAIRLEAD_CONSOLE_PORT",
        help="The console's port, 0: a free one; else 8420, or a free one where it is taken.",
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
