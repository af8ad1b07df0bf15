"""What the database must hold after each step of a job's life: a model, one step at a time."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

from tests.support.race import Lease

OUTCOMES = ("succeeded", "failed", "cancelled", "expired")
DEATHS = ("crashed", "lost")


class Ending(NamedTuple):
    """What the history says of a finished job."""

    outcome: str
    token: int | None
    attempt: int
    crashes: int
    losses: int


class Failure(NamedTuple):
    """One row of attempt_errors."""

    job: int
    token: int
    attempt: int
    ended_as: str


@dataclass(slots=True)
class Job:
    """An unfinished job, or one that has ended when `ending` is set."""

    id: int
    key: str | None = None
    max_attempts: int = 5
    retry_of: int | None = None
    retried_as: int | None = None
    state: str = "pending"
    due: bool = False
    expired: bool = False
    cancelling: bool = False
    attempts: int = 0
    crashes: int = 0
    losses: int = 0
    lone_deaths: int = 0
    suspect: bool = False
    vtag: int | None = None
    alone: bool | None = None
    token: int | None = None
    worker: int | None = None
    ending: Ending | None = None

    @property
    def doomed(self) -> str | None:
        """Say why a claim of it is to end at once."""
        return "cancelled" if self.cancelling else "expired" if self.expired else None

    @property
    def row(self) -> tuple[object, ...]:
        """What `jobs` and `work_queue` hold of it."""
        return (
            self.id,
            self.state,
            self.attempts,
            self.crashes,
            self.losses,
            self.lone_deaths,
            self.suspect,
            self.cancelling,
            self.vtag,
            self.alone,
            self.token,
            self.worker,
        )


@dataclass(slots=True)
class Model:
    """Every job ever inserted, what failed, and what the leader does not know yet."""

    jobs: dict[int, Job] = field(default_factory=dict[int, Job])
    failures: list[Failure] = field(default_factory=list[Failure])
    claimed: list[int] = field(default_factory=list[int])
    ended: list[int] = field(default_factory=list[int])
    returned: list[int] = field(default_factory=list[int])
    floor: int = 0
    newest_token: int = 0

    def add(self, job: Job) -> None:
        """Remember a job that was inserted."""
        self.jobs[job.id] = job

    def endings(self) -> list[tuple[object, ...]]:
        """Return the history: one row per finished job."""
        return [(job.id, *job.ending) for job in self.jobs.values() if job.ending]

    def live(self) -> list[Job]:
        """Return the unfinished jobs."""
        return [job for job in self.jobs.values() if job.ending is None]

    def holder(self, key: str | None) -> Job | None:
        """Return the unfinished job that has the key."""
        return next((job for job in self.live() if key is not None and job.key == key), None)

    def take_receipts(self) -> tuple[list[int], list[int], list[int]]:
        """Return the jobs claimed, ended and returned that the leader has to learn of, once."""
        receipts = (sorted(self.claimed), sorted(self.ended), sorted(self.returned))
        self.claimed, self.ended, self.returned = [], [], []
        return receipts

    def dispatch(self, ids: Iterable[int], *, vtag: int) -> tuple[int, ...]:
        """Move the pending ones of these jobs."""
        moved = [self.jobs[each] for each in sorted(ids) if self.jobs[each].state == "pending"]
        for job in moved:
            job.state, job.vtag = "queued", vtag
            job.alone = job.suspect
        return tuple(job.id for job in moved)

    def promote(self) -> tuple[int, ...]:
        """Make what fell due pending."""
        due = [job for job in self.live() if job.state == "scheduled" and job.due]
        for job in due:
            job.state, job.due = "pending", False
        return tuple(sorted(job.id for job in due))

    def claimable(self, *, below_floor: bool) -> list[Job]:
        """Return the queued jobs in claim order."""
        queued = [job for job in self.live() if job.state == "queued"]
        reachable = [job for job in queued if below_floor or (job.vtag or 0) >= self.floor]
        return sorted(reachable, key=lambda job: (job.vtag or 0, job.id))

    def claim(self, leases: Iterable[Lease], worker: int) -> None:
        """Lease the jobs under new tokens."""
        for lease in leases:
            job = self.jobs[lease.job]
            job.state, job.token, job.worker = "running", lease.token, worker
            self.claimed.append(job.id)
            self.newest_token = max(self.newest_token, lease.token)

    def holds(self, lease: Lease) -> bool:
        """Return whether the lease is the job's live one."""
        return self.jobs[lease.job].token == lease.token

    def finish(self, job: Job, outcome: str) -> None:
        """End a job: it leaves jobs and work_queue and enters the history."""
        if job.state in {"queued", "running"}:
            self.ended.append(job.id)
        attempt = job.attempts + (job.state == "running")
        job.ending = Ending(outcome, job.token, attempt, job.crashes, job.losses)
        job.state, job.token = outcome, None

    def end(self, lease: Lease, ended_as: str) -> str:
        """End an attempt without completing its job; return what became of it."""
        job = self.jobs[lease.job]
        if not self.holds(lease):
            return "stale"
        if ended_as in {"failed", "crashed", "lost", "released"}:
            self.failures.append(Failure(job.id, lease.token, job.attempts + 1, ended_as))
        job.crashes += ended_as == "crashed"
        job.losses += ended_as == "lost"
        job.lone_deaths += bool(job.alone) and ended_as in DEATHS
        if ended_as == "crashed" or (ended_as == "lost" and job.losses % 3 == 0):
            job.suspect = True
        elif job.alone and ended_as in {"failed", "snoozed", "released"}:
            job.suspect = False
        return self._become(job, ended_as)

    def _become(self, job: Job, ended_as: str) -> str:
        if job.cancelling:
            self.finish(job, "cancelled")
            return "cancelled"
        used_up = ended_as == "failed" and job.attempts + 1 >= job.max_attempts
        poison = ended_as in DEATHS and bool(job.alone) and job.lone_deaths >= 3
        if used_up or poison:
            self.finish(job, "failed")
            return "failed"
        job.token = job.worker = None
        if ended_as in {"failed", "snoozed"}:
            job.attempts += ended_as == "failed"
            self.ended.append(job.id)
            job.state, job.due, job.vtag, job.alone = "scheduled", False, None, None
            return "scheduled"
        self.returned.append(job.id)
        job.state, job.vtag = "queued", max(job.vtag or 0, self.floor)
        job.alone = job.suspect
        return "queued"

    def cancel(self, job: Job) -> str:
        """Cancel a job; return the answer to the caller."""
        if job.ending is not None:
            return "finished"
        if job.state == "running":
            job.cancelling = True
            return "requested"
        self.finish(job, "cancelled")
        return "cancelled"

    def recall(self, ids: Iterable[int]) -> tuple[int, ...]:
        """Take queued jobs back; return which."""
        taken = [self.jobs[each] for each in sorted(ids) if self.jobs[each].state == "queued"]
        for job in taken:
            job.state, job.vtag, job.alone = "pending", None, None
        return tuple(job.id for job in taken)

    def redrivable(self) -> list[Job]:
        """Return the failed jobs that were not redriven and whose key is free."""
        return [
            job
            for job in self.jobs.values()
            if job.state == "failed" and job.retried_as is None and not self.holder(job.key)
        ]

    def heir(self, job: Job) -> Job:
        """Return what repeats the job, or repeats that, and so on: the last one."""
        while job.retried_as is not None:
            job = self.jobs[job.retried_as]
        return job

    def repeat(self, job: Job, new: int) -> None:
        """Remember a job that repeats another one."""
        job.retried_as = new
        self.add(Job(new, job.key, job.max_attempts, retry_of=job.id))
