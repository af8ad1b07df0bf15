"""`fairlead schedules`: list, enable, disable and remove. An application inserts them."""

from datetime import datetime
from typing import Annotated, cast

import typer

from fairlead.cli import show, words
from fairlead.cli.problem import Failure
from fairlead.cli.session import Row, ask, session

app = typer.Typer(help="Look at cron schedules and switch them.", no_args_is_help=True)

Name = Annotated[str, typer.Argument(help="The schedule's name.")]


def _state(row: Row) -> str:
    if not row["enabled"]:
        return "disabled"
    return f"broken: {row['problem']}" if row["problem"] else "enabled"


def _last(row: Row) -> str:
    fired = cast("datetime | None", row["last_fire"])
    return words.since(fired, now=cast("datetime", row["now"]))


COLUMNS = (
    show.text("name", "name"),
    show.text("cron", "cron"),
    show.text("timezone", "timezone"),
    show.text("kind", "kind"),
    show.Column("last fire", _last, right=True),
    show.Column("state", _state),
)


@app.command("list")
def list_schedules(*, as_json: show.AsJson = False) -> None:
    """List every schedule."""
    with session() as connection:
        found = ask(connection, "schedules")
    show.rows(found, COLUMNS, as_json=as_json, none="there is no schedule")


@app.command("enable")
def enable(name: Name, *, as_json: show.AsJson = False) -> None:
    """Let a schedule fire again; what it missed is up to its policy."""
    _change("switch_schedule", name, "enabled", as_json=as_json, enabled=True)


@app.command("disable")
def disable(name: Name, *, as_json: show.AsJson = False) -> None:
    """Keep a schedule from firing."""
    _change("switch_schedule", name, "disabled", as_json=as_json, enabled=False)


@app.command("remove")
def remove(name: Name, *, as_json: show.AsJson = False) -> None:
    """Remove a schedule; the jobs that it made stay."""
    _change("remove_schedule", name, "removed", as_json=as_json, enabled=False)


def _change(statement: str, name: str, done: str, *, as_json: bool, enabled: bool) -> None:
    with session() as connection:
        found = ask(connection, statement, {"name": name, "enabled": enabled})
    if not found:
        raise Failure(f"schedule '{name}' is unknown: see `fairlead schedules list`")
    if as_json:
        show.print_json({"name": name, "answer": done})
    else:
        typer.echo(f"{done} schedule '{name}'")
