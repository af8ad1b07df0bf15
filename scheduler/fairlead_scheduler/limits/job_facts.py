"""The facts of single jobs that rules read, and the last results of these rules.

Both belong to the queue's concurrency keys: they are read along with the keys' values, and
forgotten with them.
"""

from typing import NamedTuple

from fairlead.policy.cel.variables import NO_DEADLINE_S, JobValues

FACTS = ["job", "facts"]
"""The path of the facts, in the form of a key's path; they come from the job's row."""
_NO_DEADLINE = "-"


class JobFacts(NamedTuple):
    """What rules read of a job. While it waits its priority alone may change."""

    kind: str
    priority: int
    attempts: int
    """Failed attempts."""
    since_us: int
    """Since when it could have run."""
    expires_us: int | None

    def at(self, now_us: int) -> JobValues:
        """Return the values of the variables `job.…` at this time."""
        left_s = NO_DEADLINE_S
        if self.expires_us is not None:
            left_s = min(left_s, (self.expires_us - now_us) / 1e6)
        age_s = max(0, now_us - self.since_us) / 1e6
        return self.kind, self.priority, self.attempts + 1, age_s, left_s


def parse_facts(text: str | None) -> JobFacts | None:
    """Parse the facts of a job; None for a job that is gone."""
    if text is None:
        return None
    priority, attempts, since_us, expires_us, kind = text.split(" ", 4)
    expires = None if expires_us == _NO_DEADLINE else int(expires_us)
    return JobFacts(kind, int(priority), int(attempts), int(since_us), expires)


class RuleResult(NamedTuple):
    """Which rules blocked a job when it was evaluated, and until when the result is valid."""

    rules: int
    until_us: int


class RuleResults:
    """Facts and rule results of one queue's jobs: its heads and jobs in flight."""

    __slots__ = ("by_job", "facts", "since_us")

    def __init__(self) -> None:
        self.facts: dict[int, JobFacts | None] = {}
        """None for a job without facts: it is gone, or simulated."""
        self.by_job: dict[int, RuleResult] = {}
        self.since_us: dict[int, int] = {}
        """Since when rules have blocked jobs, as far as they were evaluated."""

    def reprioritise(self, job_id: int, priority: int) -> None:
        """Have rules evaluated by another priority of a job, if it is known."""
        facts = self.facts.get(job_id)
        if facts is not None:
            self.facts[job_id] = facts._replace(priority=priority)
            self.by_job.pop(job_id, None)

    def forget(self, job_id: int) -> None:
        """Forget a job. A repeat changes nothing."""
        self.facts.pop(job_id, None)
        self.by_job.pop(job_id, None)
        self.since_us.pop(job_id, None)
