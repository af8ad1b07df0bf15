"""Put the commands together, and turn every error into one sentence and an exit code.

Exit codes: 0 done; 1 the answer is bad news (`doctor` found something, a job is unknown); 2 it
could not be carried out: a wrong argument or setting, no database, a schema that does not fit;
130 stopped by Ctrl-C.
"""

import errno
import gc
import io
import os
import sys
from collections.abc import Sequence
from typing import Annotated

import typer
from typer.exceptions import TyperException

from fairlead_cli import database_option
from fairlead_cli.commands import (
    audit,
    autoscaler,
    batches,
    doctor,
    enqueue,
    explain,
    jobs,
    migrate,
    policy,
    queues,
    roles,
    schedules,
    services,
    simulate,
    tenants,
    top,
    trace,
    workers,
)
from fairlead_cli.errors import NegativeAnswer

_COLLECT_AFTER = 50_000
"""Imports make many objects and no garbage: looking for some took a seventh of a command."""

app = typer.Typer(
    name="fairlead",
    help="A fair work queue on PostgreSQL. The URL is in FAIRLEAD_DATABASE_URL, or in "
    "the file that FAIRLEAD_DATABASE_URL_FILE names; else libpq's variables say where it is.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


def _print_version(wanted: bool) -> None:
    if wanted:
        migrate.show_version()
        raise typer.Exit


@app.callback()
def fairlead(
    *,
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Print the versions."
        ),
    ] = False,
    database_url: Annotated[
        str | None, typer.Option(metavar="URL", help=database_option.HELP)
    ] = None,
) -> None:
    """Take what stands before the command; `run` has taken the database out of it."""


migrate.add_to(app)
services.add_to(app)
enqueue.add_to(app)
app.add_typer(jobs.app, name="jobs")
app.add_typer(batches.app, name="batches")
explain.add_to(app)
queues.add_to(app)
app.add_typer(tenants.app, name="tenants")
app.add_typer(schedules.app, name="schedules")
simulate.add_to(policy.app)
app.add_typer(policy.app, name="policy")
app.add_typer(workers.app, name="workers")
app.add_typer(autoscaler.app, name="autoscaler")
app.add_typer(trace.app, name="trace")
app.add_typer(roles.app, name="roles")
audit.add_to(app)
top.add_to(app)
doctor.add_to(app)


def main() -> None:
    """Run the command of this process's arguments and exit with its code."""
    gc.set_threshold(_COLLECT_AFTER)
    output: object = sys.stdout
    if isinstance(output, io.TextIOWrapper):
        output.reconfigure(errors="backslashreplace")  # a tenant may be called anything
    sys.exit(run(sys.argv[1:]))


def run(arguments: Sequence[str]) -> int:
    """Run one command and return its exit code; what went wrong is a line on standard error."""
    try:
        for word in arguments:
            word.encode()
        with database_option.taken(arguments) as others:
            code: object = app(others, prog_name="fairlead", standalone_mode=False)
            sys.stdout.flush()
    except (KeyboardInterrupt, typer.Abort):
        return 130
    except BrokenPipeError:
        # The reader of the output has gone: `fairlead jobs list | head`.
        _print_no_more()
        return 0
    except TyperException as error:
        return _usage(error, arguments)
    except Exception as error:
        # Slow to import, and most commands go well.
        from fairlead_cli.error_sentences import sentence

        said = sentence(error) or _unprintable(error)
        if said is None:
            raise
        typer.echo(f"fairlead: {said}", err=True)
        return 1 if isinstance(error, NegativeAnswer) else 2
    return code if isinstance(code, int) else 0


def _unprintable(error: Exception) -> str | None:
    """Return the sentence for a file system that has no room for the output, and let it go."""
    full = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)
    if not isinstance(error, OSError) or error.filename is not None or error.errno not in full:
        return None
    _print_no_more()
    return f"the output cannot be written: {error.strerror}"


def _print_no_more() -> None:
    """Let go of what is left to print: the end of this process would try it again."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _usage(error: TyperException, arguments: Sequence[str]) -> int:
    """Say what is wrong with the arguments; without any, the help is what was asked for."""
    said = error.format_message()
    if said.startswith("Usage:"):
        typer.echo(said)
        return 2
    said = " ".join(said.split())  # a list of choices has one on each line
    said = f"{_with_value(said, arguments)} (see `{_help_of(arguments)}`)"
    typer.echo(f"fairlead: {said}", err=True)
    return 2


def _help_of(arguments: Sequence[str]) -> str:
    """Return the command whose help lists what is allowed."""
    named = ["fairlead"]
    inside: typer.Typer | None = app
    for word in arguments:
        if inside is None:
            break
        groups = {group.name: group.typer_instance for group in inside.registered_groups}
        if word not in groups.keys() | {each.name for each in inside.registered_commands}:
            break
        named.append(word)
        inside = groups.get(word)
    return " ".join([*named, "--help"])


def _with_value(said: str, arguments: Sequence[str]) -> str:
    """Add the value to a complaint about an option: the parser's own words leave it out."""
    said = said.rstrip(".").replace("Value error, ", "")
    field = said.partition("'")[2].partition("'")[0].split(" / ")[0]
    value = _value_of(field, arguments)
    return said if value is None or f"'{value}'" in said else f"{said}, not '{value}'"


def _value_of(field: str, arguments: Sequence[str]) -> str | None:
    """Find what was given for an option, or the first word that is no id for an argument."""
    for place, word in enumerate(arguments):
        name, given, value = word.partition("=")
        if field.startswith("-") and name == field:
            return value if given else "".join(arguments[place + 1 : place + 2])
    behind = len(_help_of(arguments).split()) - 2
    words = [word for word in arguments[behind:] if not word.startswith("--")]
    wrong = (word for word in words if not word.isdigit() or not 0 < int(word) < 2**63)
    return next(wrong, None) if field.startswith(("ID", "VERSION")) else None
