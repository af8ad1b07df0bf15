"""Variables of the conditions of a policy's rules, each with its type and meaning.

Values are given in this order: those common to a pool, those of a lane, and those of a job.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import lru_cache
from typing import NamedTuple, TypeAlias
from zoneinfo import ZoneInfo

from fairlead.policy.cel.compiler import (
    BOOL,
    DOUBLE,
    INT,
    STRING,
    TEXTS,
    Expression,
    compile_condition,
)


class Variable(NamedTuple):
    """A variable of conditions."""

    type: str
    about: str


class Workers(NamedTuple):
    """The slots of a pool's live workers."""

    slots: int
    free: int


LaneFacts: TypeAlias = tuple[str, str, Mapping[str, str], int, float, float, bool]
"""The values of a lane, in the order of `LANE`."""

JobValues: TypeAlias = tuple[str, int, int, float, float]
"""The values of a job, in the order of `JOB`."""

NO_DEADLINE_S = 1e9
"""`job.deadline_in_s` of a job without a deadline, and its highest value."""


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
    "workers.free": Variable(INT, "How many of these slots hold no job."),
    "workers.free_ratio": Variable(
        DOUBLE, "Free slots as a fraction of all slots, 0.0 to 1.0; 0.0 without workers."
    ),
}
LANE: Mapping[str, Variable] = {
    "lane.queue": Variable(STRING, "The queue's name."),
    "lane.tenant": Variable(STRING, "The tenant's name."),
    "lane.labels": Variable(
        TEXTS,
        'The tenant\'s labels: `has(lane.labels.tier) && lane.labels.tier == "free"`. Reading '
        "a label that the tenant lacks is an error, so test it with `has` first.",
    ),
    "lane.in_flight": Variable(INT, "The tenant's jobs in this queue, running or queued."),
    "lane.oldest_wait_s": Variable(
        DOUBLE,
        "Seconds that the tenant's next job in this queue has waited since the leader first "
        "saw it runnable; 0.0 if none waits. It starts again at 0.0 when another leader takes "
        "over.",
    ),
    "lane.weight": Variable(DOUBLE, "The tenant's weight in this queue, without rules."),
    "lane.waiting": Variable(BOOL, "Whether any job of the tenant waits in this queue."),
}
JOB: Mapping[str, Variable] = {
    "job.kind": Variable(STRING, "The job's kind: the name of its handler."),
    "job.priority": Variable(INT, "The job's priority, -100 to 100."),
    "job.attempt": Variable(
        INT,
        "Number of the next attempt: 1 for a new job, and one more for each failed attempt.",
    ),
    "job.age_s": Variable(
        DOUBLE,
        "Seconds since the job's INSERT, or since it fell due if it was scheduled or retried.",
    ),
    "job.deadline_in_s": Variable(
        DOUBLE,
        "Seconds until the job's `expires_at`; negative once that has passed, 1000000000.0 for "
        "a job without one.",
    ),
}
VARIABLES: Mapping[str, Variable] = {**CLOCK, **WORKERS, **LANE, **JOB}
_TYPES: Mapping[str, str] = {name: each.type for name, each in VARIABLES.items()}


@lru_cache(maxsize=1024)
def expression(text: str) -> Expression:
    """Return a condition over these variables, which is compiled once.

    Raises:
        InvalidCondition: the text is not a valid condition.
    """
    return compile_condition(text, _TYPES)


def clock(zone: str, now_us: int) -> tuple[int, int, int]:
    """Return hour, minute and weekday of an instant in a zone."""
    at = datetime.fromtimestamp(now_us // 1_000_000, ZoneInfo(zone))
    return at.hour, at.minute, at.isoweekday()


def pool_values(clock: tuple[int, int, int], workers: Workers) -> tuple[object, ...]:
    """Return the values of the variables common to all lanes of a pool."""
    ratio = workers.free / workers.slots if workers.slots else 0.0
    return (*clock, workers.slots, workers.free, ratio)


def sample_values() -> Sequence[tuple[object, ...]]:
    """Return values with which a condition is tested before it is accepted.

    They cover each hour, minute and weekday, no workers, no free slots, a tenant without jobs
    or labels, and a job that is late or has no deadline.
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
        *(pool_values(each, Workers(8, 3)) + busy + new for each in clocks),
        *(
            pool_values((12, 0, 1), fleet) + lane + new
            for fleet in fleets
            for lane in (busy, idle)
        ),
        *(pool_values((12, 0, 1), Workers(8, 3)) + busy + job for job in others),
    ]
