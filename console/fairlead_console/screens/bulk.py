"""Many jobs at once: which they are and how many, before somebody says yes."""

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final, cast

from fairlead.inspection import jobs
from fairlead.inspection.jobs import State
from fairlead.inspection.rows import Row
from fairlead_console.pages.bulk import Alike, Verb
from fairlead_console.pages.values import Count
from fairlead_console.reads import many
from fairlead_console.screens.source import Source

_SHOWN: Final = 5


@dataclass(frozen=True, slots=True)
class BulkPage:
    """What is shown before anything is done."""

    verb: Verb
    alike: Alike
    counts: tuple[tuple[State, Count], ...]
    total: Count
    newest: list[Row]
    """Some of them."""
    through: str
    """The last one, for the form."""
    now: datetime


def read(source: Source, verb: Verb, alike: Alike) -> BulkPage:
    """Read which jobs are alike."""
    return _unfinished(source, alike) if verb == "cancel" else _failed(source, alike)


def _unfinished(source: Source, alike: Alike) -> BulkPage:
    with source.reads.one() as session:
        found = {state: many.unfinished(session, alike, state) for state in many.UNFINISHED}
    newest = [row for each in found.values() for row in each.newest[:_SHOWN]]
    newest.sort(key=lambda row: cast("int", row["id"]), reverse=True)
    return BulkPage(
        verb="cancel",
        alike=alike,
        counts=tuple((state, each.count) for state, each in found.items()),
        total=Count(
            sum(each.count.number for each in found.values()),
            or_more=any(each.count.or_more for each in found.values()),
        ),
        newest=newest[:_SHOWN],
        through=str(newest[0]["id"]) if newest else "0",
        now=datetime.now(UTC),
    )


def _failed(source: Source, alike: Alike) -> BulkPage:
    with source.reads.one() as session:
        count, through = many.failed(session, alike)
        some = jobs.Filter(
            queue=alike.queue, tenant=alike.tenant, kind=alike.kind, state=State.FAILED
        )
        newest = jobs.newest(session, some).rows if count.number else []
    return BulkPage(
        verb="retry",
        alike=alike,
        counts=((State.FAILED, count),),
        total=count,
        newest=newest[:_SHOWN],
        through=through,
        now=datetime.now(UTC),
    )
