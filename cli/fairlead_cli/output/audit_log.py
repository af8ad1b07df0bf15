"""What commands say to the audit log, and how its entries are shown."""

from typing import TYPE_CHECKING, Annotated, cast

import typer

from fairlead_cli.output import formats, tables
from fairlead_cli.session import Row, ask

if TYPE_CHECKING:
    from fairlead.db.connect import Connection

Actor = Annotated[
    str | None,
    typer.Option(
        envvar="FAIRLEAD_ACTOR",
        help="Who does this, for the audit log; default: your user name.",
    ),
]
Reason = Annotated[str, typer.Option(help="Why, for the audit log.")]

_OF = ("queue", "tenant", "schedule", "version")


def who(row: Row) -> str:
    """Say who it was: whom the session named, and the login where that is another name."""
    actor, login = row["actor"], str(row["login"])
    return formats.printable(login if actor in (None, login) else f"{actor} as {login}")


def _what(row: Row) -> str:
    """Say of what an entry is: a job by its number, all else by name."""
    said = [] if row["job_id"] is None else [f"job {row['job_id']}"]
    said += [f"{name} {row[name]}" for name in _OF if row[name] not in (None, "")]
    details = cast("dict[str, object] | None", row["details"]) or {}
    said += [f"{name}: {_plain(value)}" for name, value in details.items()]
    return formats.printable(", ".join(said))


def _plain(value: object) -> str:
    if isinstance(value, list):
        return " ".join(map(str, cast("list[object]", value)))
    return str(value)


_AT = tables.Column("at", lambda row: f"{row['at']:%Y-%m-%d %H:%M:%S%z}")
_WHO = tables.Column("who", who)
_VERB = tables.text("verb", "verb")
_REASON = tables.text("reason", "reason", empty="")
COLUMNS = (_AT, _VERB, tables.Column("of", _what), _WHO, _REASON)
OF_JOB = (_AT, _VERB, _WHO, tables.text("with", "application_name"), _REASON)


def of_job(connection: "Connection", job_id: int) -> list[Row]:
    """Return who changed a job by hand, oldest first; nothing if the login may not read it."""
    from psycopg.errors import InsufficientPrivilege

    try:
        return ask(connection, "audit_of_job", {"id": job_id})
    except InsufficientPrivilege:
        return []
