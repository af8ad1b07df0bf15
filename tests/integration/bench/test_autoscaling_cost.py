"""The measurement of the controller's cost, on a small release."""

import tomllib

import pytest

from bench.autoscaling.cost import Times, figure, measure
from bench.autoscaling.release import Size

pytestmark = [pytest.mark.any_server, pytest.mark.long, pytest.mark.timeout(400)]


def test_a_small_release_costs_one_question_a_step_and_one_write_a_decision() -> None:
    """However many pools there are; a run this short does not measure durations."""
    found = measure(Size(jobs=2000, pods=20), Times(rest=6.0, change=2.0))
    asked, _, memory, writes, _ = found.costs()

    assert 1.0 == pytest.approx(asked.measured, abs=1.5 / found.steps)
    assert (10, 10, 1.0) == (found.decisions, found.writes, writes.measured)
    assert memory.met
    assert asked.what == tomllib.loads(figure(asked))["figure"][0]["what"]
