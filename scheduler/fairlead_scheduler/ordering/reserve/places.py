"""Which jobs may be long, and how many of those may be in flight.

A worker cannot be taken from a running job, so the only cure for slots that are all on long
jobs is to keep some free of them. Whether a job is long is not certain before it ends, and a
mean or a hint can be wrong by chance or on purpose. So what counts is evidence: a lane is long
while one of its recent runs was, and while one of its running jobs is. A lane that was idle has
shown nothing of the jobs that it has now. Until as many have ended as it has in flight, further
ones take places as long ones do.
"""

from collections.abc import Collection, Container, Mapping, Sequence
from typing import NamedTuple

from fairlead_scheduler.ordering.in_flight import UNCLAIMED, InFlightJob
from fairlead_scheduler.ordering.lanes import Lane
from fairlead_scheduler.policy.settings import ShortSettings

_UNBOUNDED = 1 << 62
_QUIET_MAX = 8
"""With so many jobs at hand and in flight, or fewer, a lane is quiet."""
SHORT, LONG, UNPROVEN, TRIED, BLOCKED = range(5)
"""As what a lane's next job counts. LONG and UNPROVEN take a place, TRIED takes a slot of the
reserve, and one that is BLOCKED may not go."""


class Allowance(NamedTuple):
    """What a lane may have of one turn."""

    kind: int
    """As what its jobs count."""
    jobs: int
    """How many may go."""


class Places:
    """The jobs in flight that may be long, and the places that there are for them.

    There are as many places as unreserved slots. When all of them are taken, lanes that have
    shown nothing are tried in half of the reserve, one job each.
    """

    __slots__ = (
        "_settings",
        "_spare",
        "_trial_places",
        "_waiting",
        "_waiting_trials",
        "long",
        "longer_us",
        "total",
        "trials",
        "turned_down",
        "unproven",
    )

    def __init__(self, settings: ShortSettings) -> None:
        self._settings = settings
        self.longer_us = settings.shorter_us
        """From which run time on a job is long."""
        self.total = 1
        """How many places there are."""
        self._trial_places = 0
        self._spare = 0
        """How many idle slots there are more than those that are kept."""
        self._waiting = self._waiting_trials = 0
        """Of those below, rows that wait for room for their kinds: none of them has a slot."""
        self.long: dict[int, Lane] = {}
        """Jobs that are long."""
        self.unproven: dict[int, Lane] = {}
        """Jobs that take a place because their lanes have not shown to be short."""
        self.trials: set[int] = set()
        """First jobs of lanes, which take a slot of the reserve."""
        self.turned_down: set[Lane] = set()
        """Lanes that had their turn in this plan, and whose next job may not go. None of them
        may before the next plan, for that only takes places."""

    @property
    def room(self) -> int:
        """How many places are free; not positive when none is.

        A job that is in flight need not have a slot, or get one: it may have run, and not be
        finished for as long as an application's transaction keeps it locked.
        """
        unused = self.total + self._waiting - len(self.long) - len(self.unproven)
        return max(unused, self._spare) if self._spare > 0 else unused

    @property
    def trial_room(self) -> int:
        """How many lanes more may be tried in the reserve.

        Jobs that turned out long there, whoever had them tried, go on taking its slots.
        """
        trials = len(self.trials) - self._waiting_trials
        return self._trial_places + min(0, self.room) - trials

    def note_idle(self, idle: int, slots: int) -> None:
        """Note how many of the slots have been free for a while that no row waits for.

        Call it once for each plan: what is picked in the plan takes some of them.
        """
        self._spare = idle - self._settings.kept_of(slots)

    def begin_plan(self, slots: int, passed_over: Collection[int] = ()) -> None:
        """Compute the places from this number of live slots; there is one at least.

        Rows that workers pass over take none. They would keep them for as long as no worker has
        room for their kinds, and others from slots that are free.
        """
        self.turned_down.clear()
        kept = self._settings.kept_of(slots)
        self.total = max(1, slots - kept) if kept else _UNBOUNDED
        self._trial_places = -(-kept // 2)
        self._waiting = sum(i in self.long or i in self.unproven for i in passed_over)
        self._waiting_trials = sum(i in self.trials for i in passed_over)

    def count_long(self, in_flight_jobs: Mapping[int, InFlightJob]) -> None:
        """Count those in flight that are charged for so much, and those of long lanes."""
        longer_us = self.longer_us
        self.long = {
            job_id: job.lane
            for job_id, job in in_flight_jobs.items()
            if job.charged_us >= longer_us or job.lane.mean.longest_us >= longer_us
        }

    def remove(self, job_ids: Collection[int]) -> None:
        """Note that jobs are not in flight any more."""
        for placed in (self.long, self.unproven):
            if placed:
                for job_id in job_ids:
                    placed.pop(job_id, None)
        if self.trials:
            self.trials.difference_update(job_ids)

    def outlasted(self, lanes: Container[Lane], jobs: Mapping[int, InFlightJob]) -> list[int]:
        """Count all jobs of these lanes as long; return the unclaimed ones to be recalled.

        Those are the last ones, as many as there are long jobs beyond the places.
        """
        found = {job_id: job for job_id, job in jobs.items() if job.lane in lanes}
        self.remove(found)
        self.long |= {job_id: job.lane for job_id, job in found.items()}
        unclaimed = [i for i, job in found.items() if job.claimed_us == UNCLAIMED]
        return unclaimed[len(unclaimed) - min(len(unclaimed), max(0, -self.room)) :]

    def short_jobs(self, lane: Lane) -> int:
        """Return how many of a lane's next jobs need no place; not positive for none.

        They are as many as places are free, or half of the reserve, until as many have ended
        since it was idle, and any number from then on. The first of them counts by its hint
        as well, the others do not.
        """
        mean, in_flight = lane.mean, lane.in_flight
        if self._is_long(lane) or (not mean.proven and _may_all_be_long(lane)):
            return 0
        most = max(self.room, self._trial_places)
        if mean.proven >= most:
            return _UNBOUNDED
        if in_flight >= most:
            in_flight -= self._placed(lane)
        return most - in_flight

    def kind_of(self, lane: Lane) -> int:
        """Return as what a lane's next job counts; it must have one at hand."""
        if self._is_long(lane):
            return LONG if self.room > 0 else BLOCKED
        if lane.mean.proven or not _may_all_be_long(lane):
            return SHORT if self.short_jobs(lane) > 0 else BLOCKED
        if self.room > 0:
            return UNPROVEN
        return BLOCKED if lane.in_flight or self.trial_room <= 0 else TRIED

    def may_be_tried(self, lane: Lane) -> bool:
        """Whether a blocked lane may be tried in the reserve, if it finds no place."""
        if lane in self.turned_down or lane.in_flight or not lane.heads.ready:
            return False
        return self.kind_of(lane) in (UNPROVEN, TRIED)

    def may_go(self, lane: Lane) -> bool:
        """Whether a blocked lane's next job may go now, as far as that is known."""
        if not lane.heads.ready:
            return True
        return lane not in self.turned_down and self.kind_of(lane) != BLOCKED

    def allow(self, lane: Lane, jobs_max: int) -> Allowance:
        """Return what a lane may have, of so many jobs; it may have its turn."""
        kind = self.kind_of(lane)
        if kind == SHORT:
            return Allowance(SHORT, min(jobs_max, self.short_jobs(lane)))
        if kind == LONG and lane.mean.longest_us >= self.longer_us:
            return Allowance(LONG, min(jobs_max, self.room))
        # Where many lanes have shown nothing each has one; and the jobs behind one that is
        # long by its hint count by their own.
        return Allowance(kind, min(jobs_max, 1))

    def count(self, lane: Lane, kind: int, job_ids: Sequence[int]) -> None:
        """Count jobs of a lane that are about to be in flight and take places."""
        if kind != TRIED:
            self._spare -= len(job_ids)
        if kind == LONG:
            self.long.update(dict.fromkeys(job_ids, lane))
        elif kind == UNPROVEN:
            self.unproven.update(dict.fromkeys(job_ids, lane))
        elif kind == TRIED:
            self.trials.update(job_ids)

    def _placed(self, lane: Lane) -> int:
        """Return how many of a lane's jobs in flight have places."""
        every = (self.long, self.unproven)
        return sum(other is lane for placed in every for other in placed.values())

    def _is_long(self, lane: Lane) -> bool:
        """Whether a lane has shown to be long, or its next job is hinted to be."""
        if lane.mean.longest_us >= self.longer_us:
            return True
        ready = lane.heads.ready
        hint_us = ready[0][2] if ready else None
        return hint_us is not None and hint_us >= self.longer_us


def _may_all_be_long(lane: Lane) -> bool:
    """Whether a lane of which no job has ended since it was idle could fill the slots."""
    return not lane.mean.samples or lane.in_flight + len(lane.heads.ready) > _QUIET_MAX


def find_places(
    settings: ShortSettings | None, in_flight_jobs: Mapping[int, InFlightJob]
) -> Places | None:
    """Return the places with the long jobs in flight; None when no slots are kept."""
    if settings is None:
        return None
    found = Places(settings)
    found.count_long(in_flight_jobs)
    return found
