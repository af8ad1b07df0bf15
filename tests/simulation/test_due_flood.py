"""Jobs of one tenant that are due at one instant delay its own and nobody else's."""

from unittest.mock import patch

import pytest

from bench.figures import percentile
from fairlead_scheduler.background.sweeps import Sweeps
from tests.simulation.due_flood import quiet_waits_us
from tests.support.attacked_fleet import SLOTS
from tests.support.simulated_jobs import SECOND


def p99_us(*, flood: bool) -> float:
    """Return the 99th percentile of the quiet tenant's waits."""
    return percentile(quiet_waits_us(slots=SLOTS, flood=flood), 0.99)


def test_delayed_jobs_wait_no_longer_than_twice_what_they_do_without_the_flood() -> None:
    """300,000 jobs of another tenant are due at one instant: lanes take turns at promotion."""
    assert p99_us(flood=True) <= 2 * p99_us(flood=False)


@pytest.mark.long
def test_promoted_in_order_of_time_alone_they_wait_for_the_flood() -> None:
    """Without turns whoever is due later is promoted later: 6.4 s on PostgreSQL."""
    with patch.object(Sweeps, "_promote_in_turns", return_value=None):
        assert p99_us(flood=True) > 5 * SECOND
