"""The result of a drain: how each attempt ended."""

from collections import Counter
from dataclasses import dataclass
from typing import Literal, TypeAlias

from fairlead.jsontext import Json

Outcome: TypeAlias = Literal[
    "succeeded",
    "failed",
    "cancelled",
    "expired",
    "retried",
    "snoozed",
    "stale",
    "locked",
    "unhandled",
]
"""How an attempt ended. The first four ended the job for good, as `job_history` says.

`retried` and `snoozed` jobs wait in the database for their time. `stale`: the attempt had lost
its job, and its ending changed nothing. `locked`: a transaction that is still open holds the
attempt, such as one that its handler left behind, and nothing could be written; the next drain
runs the job again. `unhandled`: the application has no handler for its kind, so it was left.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """How one attempt of one job ended.

    `result` is the stored result, also if the handler completed the job in its own transaction.
    `error` is the text that `fairlead jobs show` prints: type, message, last frames.
    """

    id: int
    kind: str
    queue: str
    tenant: str
    attempt: int
    outcome: Outcome
    result: Json = None
    error: str | None = None


@dataclass(frozen=True, slots=True)
class Drained:
    """How the attempts that `drain` ran ended, in the order in which they ran."""

    endings: tuple[Ended, ...]

    @property
    def counts(self) -> Counter[Outcome]:
        """How many attempts ended how: `{"succeeded": 1} == drained.counts` leaves none out."""
        return Counter(each.outcome for each in self.endings)

    @property
    def errors(self) -> tuple[str, ...]:
        """What went wrong, in order; an empty tuple is what most tests want to see."""
        return tuple(each.error for each in self.endings if each.error is not None)
