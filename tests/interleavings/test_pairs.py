"""Operations in every order of their steps: nothing is lost, doubled, untold or stuck."""

import os
from collections.abc import Callable, Sequence

import pytest

from tests.interleavings import page
from tests.interleavings.conftest import MakeArena
from tests.interleavings.exploring import Arena, Report
from tests.interleavings.operations import BY_NAME, OPERATIONS, Operation
from tests.interleavings.starts import STARTS

SAMPLE = (
    "pending dispatch+cancel",
    "pending dispatch+take_over_and_dispatch",
    "queued claim+recall",
    "queued claim+renumber",
    "running finish+cancel",
    "lost complete+steal",
    "lost finish+steal_and_claim",
    "lost cut_short+steal",
    "lost checkpoint+steal_and_claim",
    "lost store_checkpoints+steal",
    "running store_checkpoints+finish",
    "due promote+retry",
    "failed retry+redrive",
    "failed redrive+insert",
    "pending dispatch+replace",
    "queued claim+replace",
    "running finish+replace",
    "running finish+delete",
    "due promote+debounce",
    "failed retry+replace",
    "pending dispatch+set_priority",
    "queued claim+set_priority",
    "due promote+set_priority",
)
TRIPLES = (
    "pending dispatch+cancel+claim",
    "queued claim+recall+cancel_jobs",
    "running finish+cancel_both+extend",
    "lost finish+steal+claim_other",
    "lost cut_short+steal+cancel_both",
    "overdue complete+steal_and_claim+cancel",
    "failed retry_both+redrive+insert",
    "due promote+cancel_both+retry_both",
    "queued claim+recall+set_both",
)
Record = Callable[[str, object], None]


def asked(line: str) -> tuple[str, list[Operation]]:
    """Return the start and the operations that a line names."""
    start, names = line.split()
    return start, [BY_NAME[name] for name in names.split("+")]


def none_broken(reports: Sequence[Report]) -> bool:
    """Return whether nothing has broken, or fail with the schedules to replay."""
    broken = [str(each) for report in reports for each in report.broken]
    assert not broken, "\n".join(broken)
    return sum(report.schedules for report in reports) > 0


@pytest.mark.parametrize("line", SAMPLE)
def test_what_meets_often_may_meet_in_any_order(arena: Arena, line: str) -> None:
    """A sample: the orders in which a side is left once while it could go on."""
    start, operations = asked(line)

    assert none_broken([arena.explore(start, operations, switches_max=1)])


@pytest.mark.proof
@pytest.mark.timeout(7200)
@pytest.mark.parametrize("first", range(len(OPERATIONS)), ids=[x.name for x in OPERATIONS])
@pytest.mark.parametrize("start", STARTS)
def test_two_operations_may_meet_in_any_order(
    arena: Arena, start: str, first: int, record_property: Record
) -> None:
    """All orders of each operation with itself and those behind it in the list."""
    pairs = [
        (OPERATIONS[first], other)
        for other in OPERATIONS[first:]
        if not (other is OPERATIONS[first] and other.alone)
    ]
    switches_max = int(os.environ.get("FAIRLEAD_TEST_SWITCHES", "0")) or None

    reports = [
        arena.explore(start, pair, switches_max=switches_max)
        for pair in pairs
        if arena.matters(start, pair)
    ]

    _record(record_property, reports, skipped=len(pairs) - len(reports))
    assert not reports or none_broken(reports)


@pytest.mark.proof
@pytest.mark.timeout(7200)
@pytest.mark.parametrize("line", TRIPLES)
def test_three_operations_may_meet(
    make_arena: MakeArena, line: str, record_property: Record
) -> None:
    """The orders in which a side is left twice, at most, while it could go on."""
    start, operations = asked(line)

    report = make_arena(sides=3).explore(start, operations, switches_max=2)

    _record(record_property, [report])
    assert none_broken([report])


def _record(record: Record, reports: Sequence[Report], *, skipped: int = 0) -> None:
    record(page.SETS, len(reports))
    record(page.SKIPPED, skipped)
    record(page.SCHEDULES, sum(report.schedules for report in reports))
    record(page.STATES, sum(report.states for report in reports))
