"""`fairlead schedules`: list, enable, disable and remove. An application inserts them."""

from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, cast

import typer

from fairlead_cli.errors import CommandError, NegativeAnswer
from fairlead_cli.output import audit_log, formats, tables
from fairlead_cli.session import Row, acting, ask, session

app = typer.Typer(
    help="List, enable, disable and remove cron schedules. Without a command: list them."
)

Name = Annotated[str, typer.Argument(help="The schedule's name.")]
Tenant = Annotated[
    str | None, typer.Option(help="Its tenant, if several have a schedule of this name.")
]


def _state(row: Row) -> str:
    if not row["enabled"]:
        return "disabled"
    return f"broken: {row['problem']}" if row["problem"] else "enabled"


def _last(row: Row) -> str:
    fired = cast("datetime | None", row["last_fire"])
    return formats.since(fired, now=cast("datetime", row["now"]))


COLUMNS = (
    tables.text("name", "name"),
    tables.text("tenant", "tenant"),
    tables.text("cron", "cron"),
    tables.text("timezone", "timezone"),
    tables.text("kind", "kind"),
    tables.Column("last fire", _last, right=True),
    tables.Column("state", _state),
)


@app.callback(invoke_without_command=True)
def schedules(context: typer.Context, *, as_json: tables.AsJson = False) -> None:
    """List schedules, unless a command says what else to do."""
    if context.invoked_subcommand is None:
        list_schedules(as_json=as_json)
    elif as_json:
        raise CommandError(
            "--json belongs behind the command: `fairlead schedules list --json`"
        )


@app.command("list")
def list_schedules(
    *,
    tenant: Annotated[str | None, typer.Option(help="Only this tenant.")] = None,
    limit: Annotated[int, typer.Option(min=1, max=100_000, help="At most this many.")] = 1000,
    as_json: tables.AsJson = False,
) -> None:
    """List schedules by name."""
    with session() as connection:
        found = ask(connection, "schedules", {"tenant": tenant, "limit": limit + 1})
    none = "there is no schedule" if tenant is None else f"tenant '{tenant}' has no schedule"
    tables.rows(found[:limit], COLUMNS, as_json=as_json, none=none)
    if len(found) > limit:
        typer.echo(f"fairlead: there are more than {limit:,}: give --limit", err=True)


@app.command("enable")
def enable(
    name: Name,
    *,
    tenant: Tenant = None,
    actor: audit_log.Actor = None,
    reason: audit_log.Reason = "",
    as_json: tables.AsJson = False,
) -> None:
    """Enable a schedule; its missed-fire policy decides on missed runs."""
    key = _change(_Change("switch_schedule", actor, reason, enabled=True), name, tenant)
    _say(key, "enabled", as_json=as_json)


@app.command("disable")
def disable(
    name: Name,
    *,
    tenant: Tenant = None,
    actor: audit_log.Actor = None,
    reason: audit_log.Reason = "",
    as_json: tables.AsJson = False,
) -> None:
    """Disable a schedule until it is enabled again."""
    key = _change(_Change("switch_schedule", actor, reason, enabled=False), name, tenant)
    _say(key, "disabled", as_json=as_json)


@app.command("remove")
def remove(
    name: Name,
    *,
    tenant: Tenant = None,
    actor: audit_log.Actor = None,
    reason: audit_log.Reason = "",
    as_json: tables.AsJson = False,
) -> None:
    """Remove a schedule; jobs that it inserted stay."""
    key = _change(_Change("remove_schedule", actor, reason), name, tenant)
    _say(key, "removed", as_json=as_json)


@dataclass(frozen=True, slots=True)
class _Change:
    """A statement that changes a schedule, and who runs it and why."""

    statement: str
    actor: str | None
    reason: str
    enabled: bool = False


def _change(change: _Change, name: str, tenant: str | None) -> Row:
    """Change the one schedule that is meant; return its tenant and name."""
    with session() as connection, acting(connection, change.actor, change.reason):
        found = ask(connection, "find_schedule", {"name": name, "tenant": tenant})
        if len(found) > 1:
            several = ", ".join(f"'{row['tenant']}'" for row in found)
            raise CommandError(
                f"schedule '{name}' is of several tenants: give --tenant, one of {several}"
            )
        keys = [{"tenant": row["tenant"], "name": name} for row in found]
        given = {"enabled": change.enabled}
        if not keys or not ask(connection, change.statement, {**keys[0], **given}):
            raise NegativeAnswer(f"schedule '{name}' is unknown: see `fairlead schedules list`")
    return keys[0]


def _say(key: Row, done: str, *, as_json: bool) -> None:
    if as_json:
        tables.print_json({**key, "answer": done})
    else:
        typer.echo(f"{done} schedule '{key['name']}'")
