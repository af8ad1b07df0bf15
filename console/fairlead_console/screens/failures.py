"""Failures: what failed or expired of late, by kind and exception."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final, cast

from fairlead.inspection.rows import Row
from fairlead_console.pages.drawing import Segment, stacked
from fairlead_console.reads import records
from fairlead_console.screens.source import Source

WINDOWS: Final[Mapping[str, str]] = {"1h": "1 hour", "24h": "24 hours", "7d": "7 days"}
_USUAL = "24h"


@dataclass(frozen=True, slots=True)
class Group:
    """What failed in one way."""

    row: Row
    bar: tuple[Segment, ...]


@dataclass(frozen=True, slots=True)
class FailuresPage:
    """What the page of failures shows."""

    groups: tuple[Group, ...]
    within: str
    jobs: int
    is_cut: bool
    """Whether there are older endings of the window at which it did not look."""
    now: datetime


def asked(within: str | None) -> str:
    """Return the window that an address says."""
    return within if within is not None and within in WINDOWS else _USUAL


def read(source: Source, within: str) -> FailuresPage:
    """Read the page, or what was read a moment ago."""
    found = source.memo.get(("failures", within), lambda: _read(source, within))
    return cast("FailuresPage", found)


def _read(source: Source, within: str) -> FailuresPage:
    with source.reads.one() as session:
        rows = records.failures(session, WINDOWS[within])
    most = max((float(str(row["jobs"])) for row in rows), default=0.0)
    jobs = int(str(rows[0]["looked"])) if rows else 0
    return FailuresPage(
        groups=tuple(
            Group(row, stacked([("held", "jobs", float(str(row["jobs"])))], total=most))
            for row in rows
        ),
        within=within,
        jobs=jobs,
        is_cut=jobs >= records.LOOKED_MAX,
        now=datetime.now(UTC),
    )
