"""`fairlead dev`: the whole fleet on one machine, until Ctrl-C; and `psql` and `reset`."""

from collections.abc import Generator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer
from typer.exceptions import TyperException

from fairlead.policy import PolicyRefused
from fairlead_cli.dev import options, running
from fairlead_cli.dev import psql as shell
from fairlead_cli.dev import reset as emptying
from fairlead_cli.dev.binaries import PostgresError
from fairlead_cli.dev.running import Wanted
from fairlead_cli.dev.terminal import Terminal
from fairlead_cli.dev.worker_count import WorkerCount, autoscale_of

_PASSED_ON = {"allow_extra_args": True, "ignore_unknown_options": True}

app = typer.Typer(
    invoke_without_command=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


@app.callback()
def dev(  # noqa: PLR0913 - each is an option of the command
    context: typer.Context,
    *,
    app: options.App = None,
    workers: options.Workers = None,
    objective: options.Objective = None,
    concurrency: options.Concurrency = 10,
    processes: options.Processes = 1,
    grace_seconds: options.Grace = 10,
    data_dir: options.DataDir = None,
    port: options.Port = None,
    console_port: options.ConsolePort = None,
    policy: options.PolicyOption = None,
    reload: options.Reload = False,
) -> None:
    """Run PostgreSQL, a scheduler and workers on this machine until Ctrl-C.

    The database is the project's own: it lives in `.fairlead`, in the folder in which this is
    started. With FAIRLEAD_DATABASE_URL set no PostgreSQL is started, and that database is used.
    """
    if context.invoked_subcommand is not None:
        return
    if app is None:
        raise TyperException("Missing option '--app'")
    terminal = Terminal()
    wanted = Wanted(
        app=app,
        workers=workers,
        autoscale=_autoscale(workers, objective, slots=concurrency * processes, policy=policy),
        concurrency=concurrency,
        processes=processes,
        grace_seconds=grace_seconds,
        policy=policy,
        reload=reload,
        console_port=console_port,
    )
    options.refuse_without_module(app)
    with _refusing(terminal):
        running.run(wanted, terminal, data_dir=data_dir, port=port)


@app.command("psql", context_settings=_PASSED_ON)
def psql(context: typer.Context, *, data_dir: options.DataDir = None) -> None:
    """Open psql on the database; what else is given goes to psql.

    The project's PostgreSQL is started for it where no `fairlead dev` runs.
    """
    with _refusing(Terminal()):
        raise typer.Exit(shell.run(context.args, data_dir=data_dir))


@app.command("reset")
def reset(
    *,
    data_dir: options.DataDir = None,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
) -> None:
    """Delete the project's database and make an empty one.

    Its jobs and your tables are gone, its URL stays. A database of your own is not touched.
    """
    with _refusing(Terminal()):
        typer.echo(emptying.run(data_dir=data_dir, yes=yes))


@contextmanager
def _refusing(terminal: Terminal) -> Generator[None]:
    """Turn what is wrong into one sentence and exit code 2."""
    try:
        yield
    except (PostgresError, PolicyRefused) as error:
        terminal.refuse(str(error))
        raise typer.Exit(2) from None


def _autoscale(
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
