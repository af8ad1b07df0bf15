"""What commands say to the audit log, and how its entries are shown."""

from typing import Annotated, cast

import typer

from fairlead.inspection import formats
from fairlead.inspection.rows import Row
from fairlead_cli.output import tables

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
