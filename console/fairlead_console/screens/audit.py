"""The audit log: who changed what by hand, when and why."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import cast
from urllib.parse import urlencode

from fairlead.inspection.rows import Row
from fairlead_console.reads import records
from fairlead_console.reads.records import Wanted
from fairlead_console.screens.source import Source

_PAGE = 50
_TEXT_MAX = 256
_FILTERS = ("actor", "verb", "queue", "tenant")


@dataclass(frozen=True, slots=True)
class AuditPage:
    """What the page of the audit log shows."""

    rows: tuple[Row, ...]
    wanted: Wanted
    next_href: str | None
    now: datetime


def asked(query: Mapping[str, str]) -> Wanted:
    """Return what an address asks for; what makes no sense is left out."""
    filters = {name: query.get(name, "").replace("\0", "")[:_TEXT_MAX] for name in _FILTERS}
    said, _, number = query.get("before", "").partition("~")
    at: datetime | None
    try:
        at, place = datetime.fromisoformat(said), int(number[:19])
    except ValueError:
        at, place = None, 0
    if at is None or at.tzinfo is None or not 0 < place < 2**63:
        at = None
    return Wanted(
        **{name: said or None for name, said in filters.items()},
        at=at,
        id=place if at is not None else None,
    )


def read(source: Source, wanted: Wanted) -> AuditPage:
    """Read a page of it."""
    with source.reads.one() as session:
        rows = records.audit(session, wanted, _PAGE + 1)
    shown = rows[:_PAGE]
    return AuditPage(
        rows=tuple(shown),
        wanted=wanted,
        next_href=_after(wanted, shown[-1]) if len(rows) > _PAGE else None,
        now=datetime.now(UTC),
    )


def _after(wanted: Wanted, row: Row) -> str:
    place = f"{cast('datetime', row['at']).isoformat()}~{row['id']}"
    given = {name: getattr(wanted, name) for name in _FILTERS}
    known = {name: value for name, value in given.items() if value}
    return "/audit?" + urlencode({**known, "before": place})
