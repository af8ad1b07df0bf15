"""The list of jobs: filters, counts of states, and pages from one job's id to the next."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import cast
from urllib.parse import urlencode

from fairlead.inspection import jobs
from fairlead.inspection.jobs import State
from fairlead.inspection.rows import Row
from fairlead_console.pages.bulk import Alike, Verb
from fairlead_console.pages.values import Count
from fairlead_console.reads import moments
from fairlead_console.reads.many import UNFINISHED
from fairlead_console.screens.source import Source

_PAGE = 50
_TEXT_MAX = 256
"""Longer names are none: a queue's and a tenant's have at most 128 bytes."""


@dataclass(frozen=True, slots=True)
class StateLink:
    """A state with how many jobs are in it, and the list of these."""

    state: str
    count: Count | None
    href: str
    is_chosen: bool


@dataclass(frozen=True, slots=True)
class JobsPage:
    """What the list shows."""

    rows: list[Row]
    wanted: jobs.Filter
    states: tuple[StateLink, ...]
    next_href: str | None
    first_href: str | None
    """The first page, where this is a later one."""
    at_once: tuple[tuple[str, str], ...]
    """What can be done to all that are like these, with where it is asked for."""
    left_out: str
    """At what was looked, where older jobs could belong here as well; else empty."""
    now: datetime


def asked(query: Mapping[str, str]) -> jobs.Filter:
    """Return the filter that an address says; what makes no sense is left out."""
    state, before = query.get("state", ""), query.get("before", "")
    return jobs.Filter(
        queue=_text(query, "queue"),
        tenant=_text(query, "tenant"),
        kind=_text(query, "kind"),
        state=State(state) if state in set(State) else None,
        before=int(before)
        if before.isascii() and before.isdigit() and len(before) < 19
        else None,
        limit=_PAGE,
    )


def _text(query: Mapping[str, str], name: str) -> str | None:
    said = query.get(name, "").replace("\0", "")[:_TEXT_MAX]
    return said or None


def read(source: Source, wanted: jobs.Filter) -> JobsPage:
    """Read one page of the list."""
    with source.reads.one() as session:
        listed = jobs.newest(session, wanted)
        counts = cast(
            "Mapping[str, Count]",
            source.memo.get("counts", lambda: moments.counts(session)),
        )
    last = listed.go_on_before
    if last is None and len(listed.rows) == wanted.limit:
        last = cast("int", listed.rows[-1]["id"])
    return JobsPage(
        rows=listed.rows,
        wanted=wanted,
        states=(
            StateLink("all", None, href(wanted, state=None), wanted.state is None),
            *(
                StateLink(each, counts[each], href(wanted, state=each), wanted.state is each)
                for each in State
            ),
        ),
        next_href=None if last is None else href(wanted, state=wanted.state, before=last),
        first_href=None if wanted.before is None else href(wanted, state=wanted.state),
        at_once=_at_once(wanted),
        left_out=listed.left_out,
        now=datetime.now(UTC),
    )


def _at_once(wanted: jobs.Filter) -> tuple[tuple[str, str], ...]:
    """Return what can be done to all jobs of a queue, tenant or kind, whatever their state."""
    alike = Alike(wanted.queue, wanted.tenant, wanted.kind)
    offers: tuple[tuple[Verb, str, Collection[State | None]], ...] = (
        ("cancel", "Cancel all unfinished jobs like that", (None, *UNFINISHED)),
        ("retry", "Run all failed jobs like that again", (None, State.FAILED)),
    )
    return tuple(
        (said, f"/jobs/all/{verb}?{alike.query}")
        for verb, said, states in offers
        if wanted.state in states and not alike.refusal(verb)
    )


def href(wanted: jobs.Filter, *, state: State | None, before: int | None = None) -> str:
    """Return the address of a list like this one."""
    parts = {
        "state": state,
        "queue": wanted.queue,
        "tenant": wanted.tenant,
        "kind": wanted.kind,
        "before": before,
    }
    said = urlencode({name: value for name, value in parts.items() if value is not None})
    return f"/jobs?{said}" if said else "/jobs"
