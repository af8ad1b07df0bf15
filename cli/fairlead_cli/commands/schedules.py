"""`fairlead schedules`: list, sync, run, enable, disable and remove.

An application inserts them, or declares them in its code, which `sync` writes.
"""

import sys
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, cast

import typer

from fairlead.inspection import formats
from fairlead.inspection.rows import Row
from fairlead_cli.errors import CommandError, NegativeAnswer
from fairlead_cli.output import audit_log, tables
from fairlead_cli.session import acting, ask, session

app = typer.Typer(
    help="List, sync, run, enable, disable and remove cron schedules. Without a command: list "
    "them."
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


@app.command("sync")
def sync(
    application: Annotated[
        str, typer.Argument(metavar="APP", help="module:attribute, as workers are given it.")
    ],
    *,
    actor: audit_log.Actor = None,
    reason: audit_log.Reason = "",
    as_json: tables.AsJson = False,
) -> None:
    """Write the schedules that an application declares, in a deploy.

    Adds and changes those with @tasks.cron, and removes those that this application declared
    before and does no more. Schedules of others, or made by hand, are left alone.
    """
    from fairlead.application import AppError, load
    from fairlead.schedules import sync_schedules

    sys.path.insert(0, "")  # as `python -m` has it, by which workers load applications
    try:
        tasks = load(application)
        with session() as connection, acting(connection, actor, reason):
            done = sync_schedules(connection, tasks)
    except (AppError, ValueError) as error:
        raise CommandError(str(error)) from None
    if as_json:
        keys = ("tenant", "name")
        tables.print_json(
            {
                what: [dict(zip(keys, key, strict=True)) for key in of_these]
                for what, of_these in done._asdict().items()
            }
        )
        return
    for what, of_these in done._asdict().items():
        for tenant, name in of_these:
            typer.echo(
                f"{what} schedule '{name}'" + (f" of tenant '{tenant}'" if tenant else "")
            )
    if not any(done):
        typer.echo("nothing to change")


@app.command("run")
def run(
    name: Name,
    *,
    tenant: Tenant = None,
    actor: audit_log.Actor = None,
    reason: audit_log.Reason = "",
    as_json: tables.AsJson = False,
) -> None:
    """Insert a schedule's job now; when it fires next stays as it is.

    A schedule that is disabled runs too, and a repeat inserts another job.
    """
    key, made = _change(_Change("run_schedule", actor, reason), name, tenant)
    if as_json:
        tables.print_json({**key, "job": made["job"]})
    else:
        typer.echo(f"job {made['job']} runs schedule '{name}'")


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
    key, _ = _change(_Change("switch_schedule", actor, reason, enabled=True), name, tenant)
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
    key, _ = _change(_Change("switch_schedule", actor, reason, enabled=False), name, tenant)
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
    key, _ = _change(_Change("remove_schedule", actor, reason), name, tenant)
    _say(key, "removed", as_json=as_json)


@dataclass(frozen=True, slots=True)
class _Change:
    """A statement that changes a schedule, and who runs it and why."""

    statement: str
    actor: str | None
    reason: str
    enabled: bool = False


def _change(change: _Change, name: str, tenant: str | None) -> tuple[Row, Row]:
    """Change the one schedule that is meant; return its tenant and name, and the answer."""
    with session() as connection, acting(connection, change.actor, change.reason):
        found = ask(connection, "find_schedule", {"name": name, "tenant": tenant})
        if len(found) > 1:
            several = ", ".join(f"'{row['tenant']}'" for row in found)
            raise CommandError(
                f"schedule '{name}' is of several tenants: give --tenant, one of {several}"
            )
        keys = [{"tenant": row["tenant"], "name": name} for row in found]
        given = {"enabled": change.enabled}
        done = ask(connection, change.statement, {**keys[0], **given}) if keys else []
        if not done or None in done[0].values():
            raise NegativeAnswer(f"schedule '{name}' is unknown: see `fairlead schedules list`")
    return keys[0], done[0]


def _say(key: Row, done: str, *, as_json: bool) -> None:
    if as_json:
        tables.print_json({**key, "answer": done})
    else:
        typer.echo(f"{done} schedule '{key['name']}'")
