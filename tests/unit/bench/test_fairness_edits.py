"""Weights that are edited while a trace is played, and what that led to."""

import pytest

from bench.fairness.contenders.registry import Race, contender
from bench.fairness.contenders.simulation import simulate
from bench.fairness.results.figures import figures
from bench.fairness.traffic.weights import Edit
from fairlead_scheduler.simulation.engine import JobOutcome
from fairlead_scheduler.simulation.trace import Arrival

MS, SECOND = 1000, 1_000_000
A, B = ("q", "a"), ("q", "b")
UNTIL_US = 40 * SECOND
RACE = Race(
    trace=tuple(Arrival(0, "q", tenant, 100 * MS) for _ in range(2000) for tenant in "ab"),
    weights={A: 1.0, B: 1.0},
    slots=8,
    until_us=UNTIL_US,
    edits=(Edit(20 * SECOND, {A: 3.0, B: 1.0}),),
)


def played(name: str) -> tuple[JobOutcome, ...]:
    """Play two backlogs, of which one weighs three times as much from the middle on."""
    given = contender(name, RACE.slots)
    return simulate(RACE.trace, given.policy(RACE), given.fleet, UNTIL_US, RACE.edits)


@pytest.mark.parametrize(
    ("name", "share"),
    [
        ("fairlead", 0.75),
        ("fairlead@100", 0.75),
        ("least-in-flight", 0.75),
        ("round-robin", 0.5),
        ("stride", 0.5),
        ("fifo", 0.5),
    ],
)
def test_who_decides_at_dispatch_obeys_an_edit_over_a_backlog(name: str, share: float) -> None:
    """Three quarters from the edit on; an order that was made on arrival cannot follow."""
    found = figures(played(name), RACE, None)

    assert pytest.approx(0.5, abs=0.02) == found["share_before"]
    assert pytest.approx(share, abs=0.04) == found["share_in_5th_second"]
    assert 0.75 == found["share_entitled"]
