"""Whether nobody is known to lead, since when, and what keeps this process from it.

A standby that sees another one's live Lease has no problem. A candidate that sees none, and
cannot have the Lease itself, has one; so has a holder of the Lease to which the database gives
no epoch. For a moment that is ordinary: a take-over takes as long as a Lease lasts. After
`AFTER_SECONDS` it is worth a word, as every pool keeps the pods that it has.
"""

from dataclasses import dataclass
from enum import StrEnum

AFTER_SECONDS = 30.0
"""Beyond a take-over, and beyond the wait for a Lease that is missing."""


class Obstacle(StrEnum):
    """What keeps a process from leading."""

    LEASE_MISSING = "LeaseMissing"
    LEASE_FORBIDDEN = "LeaseForbidden"
    LEASE_REFUSED = "LeaseRefused"
    API_UNREACHABLE = "ApiUnreachable"
    DATABASE_UNREACHABLE = "DatabaseUnreachable"
    DATABASE_OF_ANOTHER = "DatabaseOfAnotherRelease"


SENTENCES = {
    Obstacle.LEASE_MISSING: "the Lease does not exist",
    Obstacle.LEASE_FORBIDDEN: "it has no right to read, create or update the Lease",
    Obstacle.LEASE_REFUSED: "the API server refuses the Lease",
    Obstacle.API_UNREACHABLE: "the API server does not answer",
    Obstacle.DATABASE_UNREACHABLE: "it holds the Lease, and PostgreSQL does not answer",
    Obstacle.DATABASE_OF_ANOTHER: "it holds the Lease, and the database is another release's",
}
"""The sentence of each obstacle; the error that was met follows it."""


@dataclass(frozen=True, slots=True)
class Problem:
    """An obstacle, and the error that it was met by."""

    obstacle: Obstacle
    error: str

    @property
    def sentence(self) -> str:
        """What is wrong, for a log and an event."""
        return f"cannot lead: {SENTENCES[self.obstacle]}: {self.error}"


@dataclass(frozen=True, slots=True)
class Vacancy:
    """What a process remembers of the time in which nobody is known to lead."""

    since: float | None = None
    """By its own clock; None: it leads, or another does."""
    problem: Problem | None = None


def observed(vacancy: Vacancy, problem: Problem | None, now: float) -> Vacancy:
    """Return what is known after one more look; the same look twice changes nothing.

    Args:
        vacancy: What was known.
        problem: What keeps this process from leading; None: it leads, or another does.
        now: The present.
    """
    if problem is None:
        return Vacancy()
    return Vacancy(now if vacancy.since is None else vacancy.since, problem)


def overdue(vacancy: Vacancy, now: float) -> Problem | None:
    """Return what is to be said; None: nothing, or not yet."""
    if vacancy.since is None or now - vacancy.since < AFTER_SECONDS:
        return None
    return vacancy.problem
