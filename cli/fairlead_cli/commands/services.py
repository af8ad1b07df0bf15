"""Commands that hand over to a room of their own, imported only when they run.

The pods run `fairlead-scheduler` and `fairlead-worker`; these are the same mains.
"""

import sys
from collections.abc import Callable

import typer

from fairlead_cli.errors import CommandError

# Arguments, --help among them, go to the room as they are.
_PASSED_ON = {"allow_extra_args": True, "ignore_unknown_options": True}


def add_to(app: typer.Typer) -> None:
    """Add the commands."""
    for command in (scheduler, worker, dev):
        name = command.__name__
        app.command(name, context_settings=_PASSED_ON, add_help_option=False)(command)


def scheduler(context: typer.Context) -> None:
    """Run a scheduler until SIGTERM or Ctrl-C."""
    from fairlead_scheduler.main import main

    _become("fairlead scheduler", context)
    main()


def worker(context: typer.Context) -> None:
    """Run a worker until SIGTERM or Ctrl-C."""
    from fairlead_worker.main import main

    _become("fairlead worker", context)
    raise typer.Exit(main())


def dev(context: typer.Context) -> None:
    """Run a whole fleet on this machine until Ctrl-C."""
    try:
        from fairlead_cli.dev.command import dev as command
    except ModuleNotFoundError as error:
        raise CommandError(_missing(error.name)) from None
    _run_alone("dev", context, command)


def _become(name: str, context: typer.Context) -> None:
    sys.argv = [name, *context.args]


def _run_alone(name: str, context: typer.Context, command: Callable[..., None]) -> None:
    """Run a command that stands in a room of its own as if it were declared here."""
    alone = typer.Typer(
        add_completion=False, pretty_exceptions_enable=False, rich_markup_mode=None
    )
    alone.command()(command)
    code: object = alone(
        list(context.args), prog_name=f"fairlead {name}", standalone_mode=False
    )
    if isinstance(code, int) and code:
        raise typer.Exit(code)


def _missing(module: str | None) -> str:
    return f"{module} is not installed: pip install 'fairlead[dev]'"
