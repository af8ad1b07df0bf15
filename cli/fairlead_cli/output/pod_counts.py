"""What people read of how many pods a pool has, in one line."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import cast

from fairlead.inspection import formats
from fairlead.inspection.rows import Row

_STALE = timedelta(minutes=3)
"""A decision that does not change is written down once a minute."""


def decision(row: Row) -> Mapping[str, object]:
    """Return what was decided."""
    return cast("Mapping[str, object]", row["decision"])


def count(row: Row, which: str) -> int | None:
    """Return how many pods do or are to do something; None: that was not said."""
    return cast("Mapping[str, int]", decision(row).get("pods", {})).get(which)


def since(row: Row) -> str:
    """Return how long ago it was decided."""
    return formats.since(cast("datetime", row["at"]), now=cast("datetime", row["now"]))


def sentences(rows: Sequence[Row]) -> Iterator[str]:
    """Say of each pool that is scaled how many pods it has, how many it is to have, and why."""
    for row in rows:
        asked, wanted = count(row, "requested"), count(row, "desired")
        pods = "1 pod" if asked == 1 else f"{asked} pods"
        more = "" if asked == wanted else f", {wanted} wanted"
        said = decision(row)
        why = f"{said['reason']}: {said['message']}"
        at, now = (cast("datetime", row[name]) for name in ("at", "now"))
        old = f" (decided {since(row)} ago, and not since)" if now - at > _STALE else ""
        yield formats.printable(f"pool {row['pool']}: {pods}{more}, {why}{old}")
