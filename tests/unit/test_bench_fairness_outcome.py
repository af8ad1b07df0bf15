"""Who is judged, and by which figures."""

import pytest

from bench.fairness.contenders import REAL
from bench.fairness.outcome import measure
from bench.fairness.workload import Workload
from fairlead_scheduler.simulation.fleet import Played
from fairlead_scheduler.simulation.trace import Arrival

TRACE = tuple(Arrival(0, "q", "a", 100_000) for _ in range(10))
WORKLOAD = Workload.model_validate(
    {
        "title": "small",
        "slots": 1,
        "seconds": 2,
        "show": ["quiet_max_seconds"],
        "targets": {
            "quiet_max_seconds": {"at_most": 0.95},
            "over_fifo": {"at_most": 1.05},
            "deep_over_shallow": {"at_most": 1.05},
        },
        "compare": {
            "over_fifo": {"figure": "quiet_max_seconds", "over": "fifo"},
            "deep_over_shallow": {
                "figure": "quiet_max_seconds",
                "of": "fairlead@5",
                "over": "fairlead@0",
            },
        },
    }
)
CONTENDERS = ("fairlead", "fairlead@0", "fairlead@5", "fifo")


def test_fairlead_is_judged_and_compared() -> None:
    """Ten jobs of a tenth of a second on one slot: the last waits for nine, and for latency."""
    outcome = measure("small", WORKLOAD, TRACE, CONTENDERS)

    found = {verdict.figure: verdict.measured for verdict in outcome.verdicts}
    assert pytest.approx(0.9, abs=0.03) == found["quiet_max_seconds"]
    assert pytest.approx(1.0, abs=0.04) == found["over_fifo"]
    assert 1.0 == found["deep_over_shallow"]
    assert not any(verdict.missed for verdict in outcome.verdicts)


def test_what_was_played_on_postgresql_is_judged_instead() -> None:
    """It stands for Fairlead; what is about simulated contenders only is left out."""
    slow = [Played(job, 180_000 * place, None) for place, job in enumerate(TRACE)]

    outcome = measure("small", WORKLOAD, TRACE, CONTENDERS, slow)

    assert REAL == next(iter(outcome.measured))
    assert {
        "quiet_max_seconds": pytest.approx(1.62),
        "over_fifo": pytest.approx(1.8),
        "deep_over_shallow": None,
    } == {verdict.figure: verdict.measured for verdict in outcome.verdicts}
    assert [True, True, False] == [verdict.missed for verdict in outcome.verdicts]
