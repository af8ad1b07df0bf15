"""The primary is lost and its standby promoted, twice in a row; no promise is broken.

`python -m tests.chaos.fail_overs` does it a hundred times.
"""

import random

import pytest

from tests.chaos.fail_overs import series
from tests.chaos.fail_overs.rounds import Kind


@pytest.mark.long
@pytest.mark.timeout(300)
@pytest.mark.parametrize("kind", ["sync", "async", "planned"])
def test_nothing_that_a_standby_has_is_lost_by_a_fail_over(
    kind: Kind, chance: random.Random
) -> None:
    """Nothing is lost, done twice or ended by an old attempt, and everything goes on and ends.

    Of an asynchronous standby, that is said of what it had received.
    """
    found = series.run(kind, 2, chance.randrange(10**6), environment={})

    assert [] == found.wrong
    assert 2 == len(found.rounds)
    assert found.last is not None
    assert found.last.outcomes["succeeded"] > 0
