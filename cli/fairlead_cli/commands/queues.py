"""`fairlead queues`, `pause` and `resume`."""

from collections.abc import Sequence
from datetime import datetime
from typing import Annotated, cast

import typer

from fairlead.inspection import fleet, formats
from fairlead.inspection.rows import Row
from fairlead_cli.commands.enqueue import read
from fairlead_cli.errors import CommandError
from fairlead_cli.output import audit_log, tables
from fairlead_cli.session import acting, ask, session

Queue = Annotated[str, typer.Argument(help="The queue.")]
Tenant = Annotated[str | None, typer.Option(help="Only this tenant in it.")]
Lasts = Annotated[
    str | None,
    typer.Option("--for", help="Resume it by itself after so long: 90s, 5m, 2h, 1d."),
]
Until = Annotated[
    str | None,
    typer.Option(
        help="Resume it by itself at this instant: 2026-11-21T09:30+01:00; UTC without a zone."
    ),
]


def add_to(app: typer.Typer) -> None:
    """Add the commands."""
    for name, command in (
        ("queues", queues),
        ("pause", pause),
        ("resume", resume),
    ):
        app.command(name)(command)


def waiting(field: str) -> tables.Column:
    """Return a column that says how long the oldest has waited, by the database's clock."""

    def says(row: Row) -> str:
        found = cast("datetime | None", row[field])
        return formats.since(found, now=cast("datetime", row["now"]))

    return tables.Column("oldest", says, right=True)


def _counted(row: Row, field: str) -> str:
    return formats.count(int(str(row[field])), or_more=bool(row[f"{field}_is_more"]))


PENDING = tables.Column("pending", lambda row: _counted(row, "pending"), right=True)


def _pause(row: Row) -> str:
    if not row["paused"]:
        return ""
    ends_at = cast("datetime | None", row.get("paused_until"))
    left = formats.until(ends_at, now=cast("datetime", row["now"]))
    return "paused" if ends_at is None else f"paused, {left} left"


PAUSED = tables.Column("", _pause)

QUEUE_COLUMNS = (
    tables.text("queue", "queue"),
    PENDING,
    tables.number("queued", "queued"),
    tables.number("running", "running"),
    tables.Column("scheduled", lambda row: _counted(row, "scheduled"), right=True),
    tables.number("tenants", "tenants"),
    waiting("oldest_pending_at"),
    PAUSED,
)
POOLED_COLUMNS = (
    QUEUE_COLUMNS[0],
    tables.text("pool", "pool", empty="none"),
    *QUEUE_COLUMNS[1:],
)
"""Where the policy has pools."""


def queues(*, as_json: tables.AsJson = False) -> None:
    """Show every queue with unfinished work. A `+` says that counting stopped there.

    Running is what workers have taken, which is a little more than they have slots: see
    `fairlead workers list` for what they hold and have not begun.

    Where the policy in force has pools, `pool` is the one that serves the queue; `none` (null
    in JSON): no pool does, and its jobs wait.
    """
    with session() as connection:
        found = fleet.queues(connection)
    tables.rows(found, columns(found), as_json=as_json, none="no queue has unfinished work")


def columns(found: Sequence[Row]) -> tuple[tables.Column, ...]:
    """Return the columns of queues that were read."""
    return POOLED_COLUMNS if any("pool" in row for row in found) else QUEUE_COLUMNS


def pause(
    queue: Queue,
    *,
    tenant: Tenant = None,
    lasts: Lasts = None,
    until: Until = None,
    actor: audit_log.Actor = None,
    reason: audit_log.Reason = "",
    as_json: tables.AsJson = False,
) -> None:
    """Pause a queue, or one tenant in it. Running jobs finish.

    It lasts until `resume`, or for the time that `--for` or `--until` gives. Another `pause`
    gives it another end, or none.
    """
    if lasts is not None and until is not None:
        raise CommandError(f"--for {lasts} and --until {until} are given: keep one of them")
    parameters: dict[str, object] = {
        "queue": queue,
        "tenant": tenant,
        "lasts": read("--for", lasts, formats.duration),
        "until": read("--until", until, formats.instant),
    }
    with session() as connection, acting(connection, actor, reason):
        (row,) = ask(connection, "pause", parameters)
    ends_at = cast("datetime | None", row["until"])
    if as_json:
        said = {"queue": queue, "tenant": tenant, "paused": True, "until": ends_at}
        tables.print_json(said)
    else:
        ends = "" if ends_at is None else f" until {ends_at.isoformat(' ', 'seconds')}"
        typer.echo(f"paused {_named(queue, tenant)}{ends}")


def resume(
    queue: Queue,
    *,
    tenant: Tenant = None,
    actor: audit_log.Actor = None,
    reason: audit_log.Reason = "",
    as_json: tables.AsJson = False,
) -> None:
    """Resume a paused queue, or one tenant in it. Give the same arguments as to `pause`."""
    with session() as connection, acting(connection, actor, reason):
        found = ask(connection, "resume", {"queue": queue, "tenant": tenant})
    was_paused = bool(found[0]["was_paused"])
    if as_json:
        tables.print_json({"queue": queue, "tenant": tenant, "was_paused": was_paused})
    else:
        outcome = "resumed" if was_paused else "was not paused:"
        typer.echo(f"{outcome} {_named(queue, tenant)}")


def _named(queue: str, tenant: str | None) -> str:
    return f"queue '{queue}'" if tenant is None else f"tenant '{tenant}' of queue '{queue}'"
