"""`fairlead batches`: list and show."""

from datetime import datetime
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, cast

import typer

from fairlead.inspection import formats
from fairlead.inspection.rows import Row
from fairlead_cli.errors import NegativeAnswer
from fairlead_cli.output import tables
from fairlead_cli.session import ask, session

if TYPE_CHECKING:
    from psycopg.errors import Diagnostic

app = typer.Typer(help="List and show batches.", no_args_is_help=True)

_COUNTS = ("succeeded", "failed", "cancelled", "expired", "unknown")


class BatchState(StrEnum):
    """How far a batch is."""

    OPEN = "open"
    WAITING = "waiting"
    REFUSED = "refused"
    COMPLETED = "completed"
    GIVEN_UP = "given_up"


def _jobs(row: Row) -> str:
    return formats.count(int(str(row["jobs"])), or_more=bool(row["jobs_is_more"]))


def _ended(row: Row) -> str:
    """Say the outcomes that there are, such as `98 succeeded, 1 failed`."""
    return ", ".join(f"{row[name]:,} {name}" for name in _COUNTS if row[name]) or "-"


def _age(row: Row) -> str:
    now = cast("datetime", row["now"])
    return formats.since(cast("datetime", row["created_at"]), now=now)


def _completed(row: Row) -> str:
    at = cast("datetime | None", row["completed_at"])
    return "-" if at is None else f"{at:%Y-%m-%d %H:%M:%S%z}"


COLUMNS = (
    tables.Column("id", lambda row: str(row["id"]), right=True),
    tables.text("state", "state"),
    tables.text("tenant", "tenant"),
    tables.text("kind", "kind"),
    tables.Column("jobs", _jobs, right=True),
    tables.Column("ended", _ended),
    tables.Column("age", _age, right=True),
    tables.Column("completed at", _completed),
    tables.text("waits for", "waits_for"),
)


@app.command("list")
def list_batches(
    *,
    tenant: Annotated[str | None, typer.Option(help="Only this tenant.")] = None,
    state: Annotated[
        BatchState | None, typer.Option(help="Only batches in this state.")
    ] = None,
    before: Annotated[
        int | None,
        typer.Option(
            min=1, max=formats.ID_MAX, help="Only batches with a lower id: the next page."
        ),
    ] = None,
    limit: Annotated[int, typer.Option(min=1, max=1000, help="At most this many.")] = 20,
    as_json: tables.AsJson = False,
) -> None:
    """List the newest batches: how many jobs, how they ended, what the batch waits for.

    The kind is that of the completion. Of jobs that are not counted yet it counts a
    thousand; a `+` says that there are more.
    """
    wanted = {"tenant": tenant, "state": state, "before": before, "limit": limit}
    said: list[str] = []

    def hear(notice: "Diagnostic") -> None:
        primary = str(notice.message_primary).removeprefix("fairlead: ")
        said.append(f"{primary}. {notice.message_hint}")

    with session() as connection:
        connection.add_notice_handler(hear)
        found = ask(connection, "list_batches", wanted)
    tables.rows(found, COLUMNS, as_json=as_json, none="no batch is like that")
    for line in said:
        typer.echo(f"fairlead: {line.replace('before_id => ', '--before ')}", err=True)


@app.command("show")
def show_batch(
    batch_id: Annotated[
        int, typer.Argument(metavar="ID", min=1, max=formats.ID_MAX, help="The batch.")
    ],
    *,
    as_json: tables.AsJson = False,
) -> None:
    """Show one batch: how its jobs have ended, and what it waits for."""
    with session() as connection:
        found = ask(connection, "show_batch", {"id": batch_id})
    if not found:
        raise NegativeAnswer(
            f"batch {batch_id} is unknown: it never was, is not this login's, or its row has "
            "expired"
        )
    if as_json:
        tables.print_json(found[0])
    else:
        tables.fields(found[0])
