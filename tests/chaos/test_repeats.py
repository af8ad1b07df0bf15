"""Each fault that `python -m tests.chaos.repeats` has happen a hundred times happens once."""

import random

import pytest

from tests.chaos.repeats import scenes, series
from tests.chaos.repeats.faults import FAULTS


@pytest.mark.long
@pytest.mark.timeout(400)
@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_loses_nothing_and_stalls_nobody(fault: str, chance: random.Random) -> None:
    """Nothing is lost, done twice or ended by an old attempt, and everything ends."""
    why = scenes.lacking(FAULTS[fault].scene)
    if why is not None:
        pytest.skip(why)

    found = series.run(fault, 1, f"{chance.randrange(10**6)}")

    assert [] == found.wrong
    assert 1 == len(found.rounds)
