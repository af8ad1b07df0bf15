"""Workloads with a policy: the effect of bands and reserves in simulated time."""

import pytest

from bench.fairness.results.outcome import measure
from bench.fairness.results.table import rows
from bench.fairness.traffic.generate import generate
from bench.fairness.traffic.workload import FOLDER, load


@pytest.mark.parametrize("name", ["W5-reserve", "W7-bands"])
def test_bands_and_reserves_meet_their_targets(name: str) -> None:
    """Short jobs next to long ones, and a trickle below a flood; a plain queue misses both."""
    workload = load(FOLDER / f"{name}.toml")
    trace = generate(workload, seed=2)

    outcome = measure(name, workload, trace, ["fairlead", "fifo"])

    assert ["met"] * len(workload.targets) == [row.result for row in rows([[outcome]])]
    figure = next(iter(workload.targets))
    assert not workload.targets[figure].met(outcome.measured["fifo"][figure])
