"""What the log says of late fires: a few lines every half minute, however many there are.

With a line for each, one tenant's ten thousand schedules made a megabyte of log a minute.
"""

from collections.abc import Iterator
from typing import NamedTuple

TENANTS_MAX = 10
"""How many tenants are named at a time: those with the most late fires."""


class LateLine(NamedTuple):
    """One line: what one tenant's schedules were late with, or those of all others."""

    tenant: str | None
    """None: all tenants that are not named."""
    schedule: str
    """One of them."""
    schedules: int
    fires: int


class LateFires:
    """Counts late fires by tenant from one report to the next. Reads no clock."""

    def __init__(self) -> None:
        self._fires: dict[str, dict[str, int]] = {}

    def record(self, tenant: str, schedule: str, fires: int) -> None:
        """Count late fires of a schedule."""
        counts = self._fires.setdefault(tenant, {})
        counts[schedule] = counts.get(schedule, 0) + fires

    def take(self) -> Iterator[LateLine]:
        """Yield what was counted, the tenants with the most fires first, and begin anew."""
        taken, self._fires = self._fires, {}
        lines = [
            LateLine(tenant, next(iter(counts)), len(counts), sum(counts.values()))
            for tenant, counts in taken.items()
        ]
        lines.sort(key=lambda line: -line.fires)
        yield from lines[:TENANTS_MAX]
        rest = lines[TENANTS_MAX:]
        if rest:
            yield LateLine(
                None,
                rest[0].schedule,
                sum(line.schedules for line in rest),
                sum(line.fires for line in rest),
            )
