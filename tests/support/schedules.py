"""Schedules for tests: inserted as an application does, and looked at once they fire."""

from tests.support.race import Database
from tests.support.waiting import until

EVERY_SECOND = "* * * * * *"


def schedule(
    db: Database,
    name: str,
    cron: str = EVERY_SECOND,
    *,
    missed: str = "coalesce",
    considered: str = "0 s",
    **more: str,
) -> None:
    """Insert a schedule that was considered until so long ago."""
    columns = {"name": name, "cron": cron, "missed": missed, "kind": "noop", **more}
    names = ", ".join(columns)
    db.execute(
        f"INSERT INTO fairlead.schedules ({names}, considered_until)"
        f" VALUES ({', '.join(['%s'] * len(columns))}, now() - %s::interval)".encode(),
        [*columns.values(), considered],
    )


def fires(db: Database, name: str) -> int:
    """Count the jobs of a schedule."""
    row = db.execute(
        "SELECT count(*) FROM fairlead.jobs WHERE headers ->> 'fairlead.schedule' = %s", [name]
    ).fetchone()
    assert row is not None
    return int(row[0])


def fired(db: Database, name: str, count: int = 1) -> None:
    """Wait until the schedule has fired so often."""
    until(lambda: fires(db, name) >= count, what=f"{count} fires of {name}")


def problem(db: Database, name: str) -> str | None:
    """Return what stands in the way of a schedule."""
    row = db.execute(
        "SELECT problem FROM fairlead.schedules WHERE name = %s", [name]
    ).fetchone()
    assert row is not None
    return None if row[0] is None else str(row[0])
