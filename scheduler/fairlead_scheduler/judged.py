"""What the leader has read of single jobs for the rules, and what these said of them last.

Both belong to the queue's keys: they are read beside the values of these, and forgotten with
them.
"""

from typing import NamedTuple

from fairlead.policy.variables import NO_DEADLINE_S, JobValues

FACTS = ["job", "facts"]
"""Where they are, as a key's path: not in a document of the job, but in its row."""
_NO_DEADLINE = "-"


class JobFacts(NamedTuple):
    """What rules ask of a job. Nothing of it changes while the job waits."""

    kind: str
    priority: int
    attempts: int
    """Those that have failed."""
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


def facts_in(text: str | None) -> JobFacts | None:
    """Return the facts of a job from what was read; None for one that is gone."""
    if text is None:
        return None
    priority, attempts, since_us, expires_us, kind = text.split(" ", 4)
    expires = None if expires_us == _NO_DEADLINE else int(expires_us)
    return JobFacts(kind, int(priority), int(attempts), int(since_us), expires)


class Verdict(NamedTuple):
    """Which rules held a job when it was looked at, and until when that counts."""

    rules: int
    until_us: int


class Judged:
    """The jobs of one queue that rules are about: heads, and what is in flight."""

    __slots__ = ("facts", "since_us", "verdicts")

    def __init__(self) -> None:
        self.facts: dict[int, JobFacts | None] = {}
        """None for a job of which nothing is known: it is gone, or simulated."""
        self.verdicts: dict[int, Verdict] = {}
        self.since_us: dict[int, int] = {}
        """Since when rules have held jobs, as far as anybody has looked."""

    def leave(self, job_id: int) -> None:
        """Forget a job. A repeat changes nothing."""
        self.facts.pop(job_id, None)
        self.verdicts.pop(job_id, None)
        self.since_us.pop(job_id, None)
