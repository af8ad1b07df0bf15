"""The autoscaler: what asks for pods of each pool, what bounds them, and why, in sentences."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import cast

from fairlead.inspection import fleet
from fairlead.inspection.rows import Row
from fairlead_console.pages import decisions
from fairlead_console.screens.source import Source


@dataclass(frozen=True, slots=True)
class AutoscalerPage:
    """What the page of the autoscaler shows."""

    pools: tuple[decisions.Decision, ...]
    now: datetime


def read(source: Source) -> AutoscalerPage:
    """Read the page, or what was read a moment ago."""
    return cast("AutoscalerPage", source.memo.get("autoscaler", lambda: _read(source)))


def _read(source: Source) -> AutoscalerPage:
    with source.reads.one() as session:
        rows = fleet.pool_decisions(session)
    return AutoscalerPage(tuple(map(_decision, rows)), datetime.now(UTC))


def _decision(row: Row) -> decisions.Decision:
    at, now = (cast("datetime", row[name]) for name in ("at", "now"))
    said = cast("Mapping[str, object]", row["decision"])
    return decisions.of_pool(str(row["pool"]), said, at=at, now=now)
