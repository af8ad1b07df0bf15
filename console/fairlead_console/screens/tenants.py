"""Tenants: what each had of the slots beside what it is entitled to, and what it waits for."""

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import cast

from fairlead.inspection import fleet
from fairlead.inspection.rows import Row
from fairlead_console.pages import fairness
from fairlead_console.reads import moments
from fairlead_console.screens.source import Source

_SHOWN = 100


@dataclass(frozen=True, slots=True)
class TenantsPage:
    """What the page of tenants shows."""

    shares: tuple[fairness.Share, ...]
    pools: tuple[Row, ...]
    """The fairness report of each pool; none: there is no report yet."""
    sentences: tuple[str, ...]
    queue: str | None
    is_cut: bool
    now: datetime


def read(source: Source, queue: str | None) -> TenantsPage:
    """Read the page, or what was read a moment ago."""
    return cast(
        "TenantsPage", source.memo.get(("tenants", queue), lambda: _read(source, queue))
    )


def _read(source: Source, queue: str | None) -> TenantsPage:
    with source.reads.one() as session:
        rows = moments.tenants(session, queue=queue, limit=_SHOWN + 1)
        pools = [row for row in fleet.shares(session) if row["pool"] is not None]
    shown = rows[:_SHOWN]
    return TenantsPage(
        shares=fairness.shares(shown),
        pools=tuple(pools),
        sentences=fairness.sentences(shown),
        queue=queue,
        is_cut=len(rows) > _SHOWN,
        now=datetime.now(UTC),
    )
