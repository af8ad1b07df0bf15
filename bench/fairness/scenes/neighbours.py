"""Those beside whom floods and attacks by handlers are played, and how long they wait.

Two tenants are backlogged, and a quiet one inserts four short jobs a second.
"""

from __future__ import annotations

from collections.abc import Sequence

from fairlead_scheduler.simulation.engine import JobOutcome
from fairlead_scheduler.simulation.trace import Arrival
from tests.support.adversaries import QUIET, quiet_jobs, victims

_US = 1e6


def neighbours(seconds: int) -> list[Arrival]:
    """Return their jobs in the order of insertion."""
    jobs = (*victims(seconds), *quiet_jobs(QUIET, seconds))
    return sorted(
        (Arrival(job.at_us, *job.lane, job.cost_us) for job in jobs),
        key=lambda arrival: arrival.at_us,
    )


def quiet_waits(played: Sequence[JobOutcome], until_us: int) -> list[float]:
    """Return how long each job of the quiet tenant waited for a worker, in seconds.

    One that none has claimed waited until the end.
    """
    return [
        ((until_us if claimed_us is None else claimed_us) - job.at_us) / _US
        for job, claimed_us, _ in played
        if job.lane == QUIET
    ]
