"""Those beside whom floods and attacks by handlers are played, and what they had.

Two tenants are backlogged, and a quiet one inserts four short jobs a second.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from fairlead_scheduler.simulation.engine import JobOutcome
from fairlead_scheduler.simulation.trace import Arrival
from tests.support.adversaries import QUIET, quiet_jobs, victims

_US = 1e6


@dataclass(frozen=True, slots=True)
class Job:
    """What the independent checker knows of a job."""

    lane: tuple[str, str]
    cost_us: int
    arrived_us: int
    claimed_us: int | None
    ended_us: int | None


def neighbours(seconds: int, *, from_us: int = 0) -> list[Arrival]:
    """Return their jobs in the order of insertion; the backlogs are there from a moment on."""
    jobs = (*victims(seconds, from_us=from_us), *quiet_jobs(QUIET, seconds))
    return sorted(
        (Arrival(job.at_us, *job.lane, job.cost_us) for job in jobs),
        key=lambda arrival: arrival.at_us,
    )


def known(played: Sequence[JobOutcome]) -> list[Job]:
    """Return the jobs as the checker wants them."""
    return [
        Job(job.lane, job.cost_us, job.at_us, claimed_us, ended_us)
        for job, claimed_us, ended_us in played
    ]


def quiet_waits(played: Sequence[JobOutcome], until_us: int) -> list[float]:
    """Return how long each job of the quiet tenant waited for a worker, in seconds.

    One that none has claimed waited until the end.
    """
    return [
        ((until_us if claimed_us is None else claimed_us) - job.at_us) / _US
        for job, claimed_us, _ in played
        if job.lane == QUIET
    ]
