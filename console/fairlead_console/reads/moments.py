"""The console's own statements: counts of states, who has a pool's slots, what is paused."""

from collections.abc import Mapping
from typing import Final, cast

from psycopg.rows import dict_row

from fairlead.db import statements
from fairlead.db.connect import Connection
from fairlead.inspection.pool_routing import placed
from fairlead.inspection.rows import Row
from fairlead_console.pages.values import Count

COUNTED_MAX: Final = 10_000
"""How far each state is counted: a page that counts millions is an outage of its own."""
_HOLDERS = 8
_JOBS, _TENANTS = 20_000, 1_000
"""At how many the page of queues looks, over all queues."""
_PACKAGE = "fairlead_console.reads"


def counts(connection: Connection) -> dict[str, Count]:
    """Count the jobs of each state, up to a bound."""
    (row,) = ask(connection, "counts", {"most": COUNTED_MAX})
    of = cast("Mapping[str, int]", row)
    in_flight = of["queued"] + of["running"]
    found = {name: _bounded(of[name]) for name in ("queued", "running", "scheduled")}
    due = _bounded(of["due"])
    found["pending"] = (
        due if due.or_more else Count(max(due.number - in_flight, 0), or_more=False)
    )
    found["succeeded"] = _bounded(of["succeeded"])
    for name in ("failed", "cancelled", "expired"):
        found[name] = Count(of[name], bool(row["unsuccessful_is_more"]))
    return found


def slots(connection: Connection, pool: str | None) -> list[Row]:
    """Read who has the slots of a pool, those with most first."""
    return ask(connection, "slots", {"pool": pool, "limit": _HOLDERS})


def queues(connection: Connection) -> list[Row]:
    """Read every queue with unfinished work, with its pool where the policy has some.

    It looks at a bounded number of jobs and tenants, however many there are, and says so.
    """
    rows = ask(connection, "queues", {"jobs": _JOBS, "tenants": _TENANTS})
    return placed(connection, rows)


def tenants(connection: Connection, *, queue: str | None, limit: int) -> list[Row]:
    """Read the tenants that had most of the slots, are furthest behind or wait longest."""
    return ask(connection, "tenants", {"queue": queue, "limit": limit})


def paused(connection: Connection) -> list[Row]:
    """Read what is paused by hand."""
    return ask(connection, "paused")


def pulse(connection: Connection) -> tuple[object, ...]:
    """Read what changes when anything does."""
    (row,) = ask(connection, "pulse")
    return tuple(row.values())


def _bounded(number: int) -> Count:
    return Count(min(number, COUNTED_MAX), number > COUNTED_MAX)


def ask(
    connection: Connection, name: str, parameters: Mapping[str, object] | None = None
) -> list[Row]:
    """Run one statement of the console and return its rows by column name."""
    statement = statements.load(_PACKAGE, name)
    with connection.cursor(row_factory=dict_row) as cursor:
        cursor.execute(statement, parameters)
        return cursor.fetchall()
