"""What a simulation predicts: each tenant's share and waits, in force and with a new document.

The report is what `fairlead policy simulate --json` prints. Times are seconds, shares parts of
one.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import cast

from fairlead.inspection import formats

_STANDS_OUT = 0.01
"""By how much a share has to change to be named."""

Report = Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Side:
    """What one of the policies does for some tenants."""

    share: float
    p50: str
    p99: str


@dataclass(frozen=True, slots=True)
class Change:
    """A row: both policies for a tenant of a queue, or for several together."""

    tenant: str
    queue: str
    is_tenant: bool
    """Else it is several, and the tenant's place says which."""
    old: Side
    new: Side
    width: float
    """Of a thousand: the share with the new document."""
    mark: float
    """And where the share is under the policy in force."""


@dataclass(frozen=True, slots=True)
class Prediction:
    """A report as a page shows it."""

    lead: str
    given: str
    """What it was predicted from."""
    sentences: tuple[str, ...]
    notes: tuple[str, ...]
    changes: tuple[Change, ...]


def prediction(report: Report) -> Prediction:
    """Return a report as a page shows it."""
    changes = tuple(_changes(report))
    total = _sides(report["all"])
    before, after = (cast("int", total[name]["started"]) for name in ("old", "new"))
    seconds = f"{cast('float', report['simulated_seconds']):.3g} s"
    return Prediction(
        lead=f"In the next {seconds} {before:,} jobs start under the policy in force, and "
        f"{after:,} with this document.",
        given=_given(report),
        sentences=tuple(_sentences(changes)),
        notes=tuple(cast("Sequence[str]", report["notes"])),
        changes=changes,
    )


def _given(report: Report) -> str:
    waiting = formats.count(
        cast("int", report["waiting"]), or_more=bool(report["waiting_is_more"])
    )
    known = formats.age(timedelta(seconds=cast("float", report["known_seconds"])))
    slots = ", ".join(
        f"{cast('int', each['slots']):,} slots in pool {each['pool']}"
        for each in cast("Sequence[Report]", report["pools"])
    )
    flying = cast("int", report["in_flight"])
    return (
        f"{waiting} jobs wait, {flying:,} are in flight; {slots}; arrivals and run times are "
        f"those of the last {known}."
    )


def _sides(of: object) -> Mapping[str, Report]:
    return cast("Mapping[str, Report]", of)


def _changes(report: Report) -> Iterator[Change]:
    rows = [
        (str(each["tenant"]), str(each["queue"]), True, _sides(each))
        for each in cast("Sequence[Report]", report["tenants"])
    ]
    if report["other"] is not None:
        other = cast("Report", report["other"])
        count = cast("int", other["tenants"])
        name = "1 other tenant" if count == 1 else f"{count:,} other tenants"
        rows.append((name, "", False, _sides(other)))
    rows.append(("all: slots in use", "", False, _sides(report["all"])))
    top = max(
        (cast("float", sides[name]["share"]) for *_, sides in rows for name in ("old", "new")),
        default=1.0,
    )
    for tenant, queue, is_tenant, sides in rows:
        old, new = _side(sides["old"]), _side(sides["new"])
        width, mark = (round(1000 * each.share / (top or 1.0), 1) for each in (new, old))
        yield Change(tenant, queue, is_tenant, old, new, width, mark)


def _side(of: Report) -> Side:
    return Side(cast("float", of["share"]), _wait(of, "p50"), _wait(of, "p99"))


def _wait(of: Report, name: str) -> str:
    """Say a wait; one that had not ended is at least so long."""
    seconds = cast("float | None", of[f"wait_{name}_seconds"])
    if seconds is None:
        return "-"
    return f"{'>' if of[f'wait_{name}_is_more'] else ''}{seconds:,.2f} s"


def _sentences(changes: Sequence[Change]) -> Iterator[str]:
    """Name who gains and who loses most."""
    tenants = [each for each in changes if each.is_tenant]
    gains = max(tenants, key=_gain, default=None)
    loses = min(tenants, key=_gain, default=None)
    if gains is not None and _gain(gains) > _STANDS_OUT:
        yield _moved(gains)
    if loses is not None and _gain(loses) < -_STANDS_OUT:
        yield _moved(loses)
    if tenants and all(abs(_gain(each)) <= _STANDS_OUT for each in tenants):
        yield "Each tenant's share stays about as it is."


def _gain(change: Change) -> float:
    return change.new.share - change.old.share


def _moved(change: Change) -> str:
    tenant = f"“{change.tenant}”" if change.tenant else "The tenant without a name"
    return (
        f"{tenant} in queue “{change.queue}” gets {change.new.share:.0%} of the slots in use "
        f"instead of {change.old.share:.0%}."
    )
