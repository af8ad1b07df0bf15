"""`fairlead schedules`: list, enable, disable and remove. An application inserts them."""

from datetime import datetime
from typing import Annotated, cast

import typer

from fairlead.cli import show, words
from fairlead.cli.problem import Failure, Problem
from fairlead.cli.session import Row, ask, session

app = typer.Typer(help="Look at cron schedules and switch them.", no_args_is_help=True)

Name = Annotated[str, typer.Argument(help="The schedule's name.")]
Tenant = Annotated[
    str | None, typer.Option(help="Whose it is, where several tenants have one of this name.")
]


def _state(row: Row) -> str:
    if not row["enabled"]:
        return "disabled"
    return f"broken: {row['problem']}" if row["problem"] else "enabled"


def _last(row: Row) -> str:
    fired = cast("datetime | None", row["last_fire"])
    return words.since(fired, now=cast("datetime", row["now"]))


COLUMNS = (
    show.text("name", "name"),
    show.text("tenant", "tenant"),
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
def enable(name: Name, *, tenant: Tenant = None, as_json: show.AsJson = False) -> None:
    """Let a schedule fire again; what it missed is up to its policy."""
    key = _change("switch_schedule", name, tenant, enabled=True)
    _say(key, "enabled", as_json=as_json)


@app.command("disable")
def disable(name: Name, *, tenant: Tenant = None, as_json: show.AsJson = False) -> None:
    """Keep a schedule from firing until it is enabled."""
    key = _change("switch_schedule", name, tenant, enabled=False)
    _say(key, "disabled", as_json=as_json)


@app.command("remove")
def remove(name: Name, *, tenant: Tenant = None, as_json: show.AsJson = False) -> None:
    """Remove a schedule; the jobs that it made stay."""
    key = _change("remove_schedule", name, tenant, enabled=False)
    _say(key, "removed", as_json=as_json)


def _change(statement: str, name: str, tenant: str | None, *, enabled: bool) -> Row:
    """Change the one schedule that is meant; return its tenant and name."""
    with session() as connection:
        found = ask(connection, "find_schedule", {"name": name, "tenant": tenant})
        if len(found) > 1:
            several = ", ".join(f"'{row['tenant']}'" for row in found)
            raise Problem(
                f"schedule '{name}' is of several tenants: give --tenant, one of {several}"
            )
        keys = [{"tenant": row["tenant"], "name": name} for row in found]
        if not keys or not ask(connection, statement, {**keys[0], "enabled": enabled}):
            raise Failure(f"schedule '{name}' is unknown: see `fairlead schedules list`")
    return keys[0]


def _say(key: Row, done: str, *, as_json: bool) -> None:
    if as_json:
        show.print_json({**key, "answer": done})
    else:
        typer.echo(f"{done} schedule '{key['name']}'")
