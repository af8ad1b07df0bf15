"""What the conditions of a policy's rules may ask for: each variable with its type and meaning.

The values are given in this order: those that are the same for all of a pool, those of a
lane, and those of a job.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import lru_cache
from typing import NamedTuple, TypeAlias
from zoneinfo import ZoneInfo

from fairlead.policy.cel import BOOL, DOUBLE, INT, STRING, TEXTS, Expression, compiled


class Variable(NamedTuple):
    """One that an expression may name."""

    type: str
    about: str


class Workers(NamedTuple):
    """The slots of a pool's live workers."""

    slots: int
    free: int


LaneFacts: TypeAlias = tuple[str, str, Mapping[str, str], int, float, float, bool]
"""What the leader knows of a tenant in a queue, in the order of `LANE`."""

JobValues: TypeAlias = tuple[str, int, int, float, float]
"""What the leader has read of a job, in the order of `JOB`."""

NO_DEADLINE_S = 1e9
"""What is left of a deadline that there is not, and the most that is said to be left of one."""


CLOCK: Mapping[str, Variable] = {
    "hour": Variable(INT, "The hour of the day, 0 to 23, in the rule's `zone`."),
    "minute": Variable(INT, "The minute of the hour, 0 to 59, in the rule's `zone`."),
    "weekday": Variable(
        INT, "The day of the week in the rule's `zone`: 1 is Monday, 7 Sunday."
    ),
}
WORKERS: Mapping[str, Variable] = {
    "workers.slots": Variable(
        INT, "All slots of live workers of the queue's pool; 0 where no pool serves the queue."
    ),
    "workers.free": Variable(INT, "Those of these slots that hold no job."),
    "workers.free_ratio": Variable(
        DOUBLE, "The free slots' share of all slots, 0.0 to 1.0; 0.0 without workers."
    ),
}
LANE: Mapping[str, Variable] = {
    "lane.queue": Variable(STRING, "The queue's name."),
    "lane.tenant": Variable(STRING, "The tenant's name."),
    "lane.labels": Variable(
        TEXTS,
        'The tenant\'s labels: `has(lane.labels.tier) && lane.labels.tier == "free"`. One that '
        "the tenant has not is an error, so ask `has` first.",
    ),
    "lane.in_flight": Variable(INT, "The tenant's jobs in this queue that run or are queued."),
    "lane.oldest_wait_s": Variable(
        DOUBLE,
        "For how many seconds the tenant's next job in this queue has waited, since the leader "
        "first saw it runnable; 0.0 when none waits. It starts anew when another leader takes "
        "over.",
    ),
    "lane.weight": Variable(DOUBLE, "The tenant's weight in this queue, without any rule's."),
    "lane.waiting": Variable(BOOL, "Whether jobs of the tenant wait in this queue."),
}
JOB: Mapping[str, Variable] = {
    "job.kind": Variable(STRING, "The job's kind: the name of its handler."),
    "job.priority": Variable(INT, "The job's priority, -100 to 100."),
    "job.attempt": Variable(
        INT,
        "Which attempt it would be: 1 for a new job, and one more for each that has failed.",
    ),
    "job.age_s": Variable(
        DOUBLE,
        "For how many seconds the job could have run: since its INSERT, or since it fell due "
        "if it was delayed or is retried.",
    ),
    "job.deadline_in_s": Variable(
        DOUBLE,
        "How many seconds are left until its `expires_at`; below zero when that is over, and "
        "1000000000.0 for a job without one.",
    ),
}
VARIABLES: Mapping[str, Variable] = {**CLOCK, **WORKERS, **LANE, **JOB}
_TYPES: Mapping[str, str] = {name: each.type for name, each in VARIABLES.items()}


@lru_cache(maxsize=1024)
def expression(text: str) -> Expression:
    """Return an expression over the variables, which is read once.

    Raises:
        Unfit: it is none.
    """
    return compiled(text, _TYPES)


def clock(zone: str, now_us: int) -> tuple[int, int, int]:
    """Return hour, minute and weekday of an instant in a zone."""
    at = datetime.fromtimestamp(now_us // 1_000_000, ZoneInfo(zone))
    return at.hour, at.minute, at.isoweekday()


def everywhere(clock: tuple[int, int, int], workers: Workers) -> tuple[object, ...]:
    """Return the values of what is the same for all lanes of a pool."""
    ratio = workers.free / workers.slots if workers.slots else 0.0
    return (*clock, workers.slots, workers.free, ratio)


def samples() -> Sequence[tuple[object, ...]]:
    """Return values on which an expression is tried before it is accepted.

    One thing after another is unusual: each hour, minute and weekday, no workers, none free,
    a tenant that has nothing, no label either, and a job that is late, or has no deadline.
    """
    busy: LaneFacts = ("default", "", {}, 3, 1.5, 1.0, True)
    idle: LaneFacts = ("default", "", {}, 0, 0.0, 1.0, False)
    clocks = [
        *((hour, 0, 1) for hour in range(24)),
        *((12, minute, 1) for minute in range(60)),
        *((12, 0, day) for day in range(1, 8)),
    ]
    new: JobValues = ("default", 0, 1, 0.0, NO_DEADLINE_S)
    others: tuple[JobValues, ...] = (
        ("default", 100, 5, 90_000.5, -2.5),
        ("default", -100, 2, 60.0, 60.0),
    )
    fleets = (Workers(0, 0), Workers(8, 0), Workers(8, 3), Workers(8, 8))
    return [
        *(everywhere(each, Workers(8, 3)) + busy + new for each in clocks),
        *(
            everywhere((12, 0, 1), fleet) + lane + new
            for fleet in fleets
            for lane in (busy, idle)
        ),
        *(everywhere((12, 0, 1), Workers(8, 3)) + busy + job for job in others),
    ]
