"""Statements of what was recorded: failures, schedules, stored policies, the audit log."""

from datetime import datetime
from typing import Final, NamedTuple

from fairlead.db.connect import Connection
from fairlead.inspection.rows import Row
from fairlead_console.reads.moments import ask

LOOKED_MAX: Final = 10_000
"""At how many endings the page of failures looks: each is read whole."""
_GROUPS = 100


class Wanted(NamedTuple):
    """Which entries of the audit log are asked for; None: any."""

    verb: str | None = None
    actor: str | None = None
    queue: str | None = None
    tenant: str | None = None
    at: datetime | None = None
    """Only what is behind this place, with the id."""
    id: int | None = None


def failures(connection: Connection, within: str) -> list[Row]:
    """Read what failed of late by kind and exception."""
    given = {"within": within, "most": LOOKED_MAX, "limit": _GROUPS}
    return ask(connection, "failures", given)


def audit(connection: Connection, wanted: Wanted, limit: int) -> list[Row]:
    """Read a page of the audit log."""
    return ask(connection, "audit", {**wanted._asdict(), "limit": limit})


def schedules(connection: Connection, after: tuple[str, str] | None, limit: int) -> list[Row]:
    """Read a page of schedules, behind a tenant and a name."""
    tenant, name = after or (None, None)
    return ask(connection, "schedules", {"tenant": tenant, "name": name, "limit": limit})


def policies(connection: Connection, before: int | None, limit: int) -> list[Row]:
    """Read a page of the policy's versions."""
    return ask(connection, "policies", {"before": before, "limit": limit})


def pauses(connection: Connection) -> list[Row]:
    """Read what is paused by hand, by whom and why."""
    return ask(connection, "pauses")


def rates(connection: Connection, queues: list[str]) -> list[Row]:
    """Read how far the rates of these queues are used up."""
    return ask(connection, "rates", {"queues": queues})
