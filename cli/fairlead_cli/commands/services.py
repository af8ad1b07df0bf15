"""Commands that hand over to a room of their own, imported only when they run.

The pods run `fairlead-scheduler`, `fairlead-worker` and `fairlead-console`; these are the same
mains.
"""

import sys

import typer

from fairlead.runtime import extras

# Arguments, --help among them, go to the room as they are.
_PASSED_ON = {"allow_extra_args": True, "ignore_unknown_options": True}


def add_to(app: typer.Typer) -> None:
    """Add the commands."""
    for command in (scheduler, worker, console, dev):
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


def console(context: typer.Context) -> None:
    """Show the fleet in a browser until SIGTERM or Ctrl-C."""
    from fairlead_console.main import main

    main(context.args)


def dev(context: typer.Context) -> None:
    """Run a whole fleet on this machine until Ctrl-C."""
    extras.require("dev")
    from fairlead_cli.dev.command import app

    _run_alone("dev", context, app)


def _become(name: str, context: typer.Context) -> None:
    sys.argv = [name, *context.args]


def _run_alone(name: str, context: typer.Context, alone: typer.Typer) -> None:
    """Run commands that stand in a room of their own as if they were declared here."""
    code: object = alone(
        list(context.args), prog_name=f"fairlead {name}", standalone_mode=False
    )
    if isinstance(code, int) and code:
        raise typer.Exit(code)
