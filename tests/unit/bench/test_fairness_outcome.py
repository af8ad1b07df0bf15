"""Which runs are evaluated, and by which figures."""

import pytest

from bench.fairness.contenders.registry import REAL
from bench.fairness.results.outcome import Observed, Outcome, measure, middle
from bench.fairness.results.table import rows
from bench.fairness.traffic.workload import Workload
from fairlead_scheduler.simulation.engine import JobOutcome
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

    found = {row.figure: row for row in rows([[outcome]])}
    assert pytest.approx([0.9], abs=0.03) == list(found["quiet_max_seconds"].evaluated)
    assert pytest.approx([1.0], abs=0.04) == list(found["over_fifo"].evaluated)
    assert (1.0,) == found["deep_over_shallow"].evaluated
    assert ["met"] * 3 == [row.result for row in found.values()]


def test_what_was_played_on_postgresql_is_judged_beside_it() -> None:
    """It stands for Fairlead; comparisons of simulated contenders stay simulated."""
    slow = [JobOutcome(job, 180_000 * place, None) for place, job in enumerate(TRACE)]

    outcome = measure(
        "small", WORKLOAD, TRACE, CONTENDERS, Observed(slow, {"scheduler_cpu_us": 3.0})
    )

    assert REAL == next(iter(outcome.measured))
    assert 3.0 == outcome.measured[REAL]["scheduler_cpu_us"]
    found = {row.figure: list(row.real) for row in rows([[outcome]])}
    assert pytest.approx([1.62]) == found["quiet_max_seconds"]
    assert pytest.approx([1.8]) == found["over_fifo"]
    assert [] == found["deep_over_shallow"]
    assert ["missed", "missed", "met"] == [row.result for row in rows([[outcome]])]


def test_nothing_simulated_stands_in_for_a_play_that_broke() -> None:
    """Its targets are not measured."""
    outcome = measure("small", WORKLOAD, TRACE, CONTENDERS, Observed(is_broken=True))

    assert {"not measured"} == {row.result for row in rows([[outcome]])}


def test_what_happens_while_it_warms_up_does_not_count() -> None:
    """Jobs due in the first tenth of a second: their waits are left out."""
    trace = [Arrival(place * 50_000, "q", "a", 50_000) for place in range(10)]
    warm = WORKLOAD.model_copy(update={"seconds": 0.4, "warm_seconds": 0.1, "compare": {}})
    late = [
        JobOutcome(job, job.at_us + (90_000 if place < 2 else 0), None)
        for place, job in enumerate(trace)
    ]

    outcome = measure("small", warm, trace, ("fairlead",), Observed(late))

    assert 0 == outcome.measured[REAL]["quiet_max_seconds"]


def test_the_middle_of_several_runs_has_their_medians() -> None:
    """Figure by figure; one that a run lacks is the median of the others."""
    runs = [
        Outcome(
            name="x",
            workload=WORKLOAD,
            seed=seed,
            jobs=1,
            measured={"fairlead": {"a": value, "b": 1.0}},
            evaluated={"fairlead": {"a": value}},
        )
        for seed, value in enumerate((3.0, 1.0, 9.0))
    ]

    found = middle(runs)

    assert {"fairlead": {"a": 3.0, "b": 1.0}} == found.measured
    assert {"fairlead": {"a": 3.0}} == found.evaluated
