"""Why a job does not run, and when a pending one will: from its lane's position.

The start is estimated as if work were a fluid: a lane drains at its share of the slots, so what
lies before a job, and what the lane owes the others, takes that long. Bounds and busy slots add
to it.
"""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import NamedTuple

from fairlead.policy.value_types import display
from fairlead_scheduler.explain.contention import contention
from fairlead_scheduler.instants import iso_instant
from fairlead_scheduler.limits.limiter import Limiter
from fairlead_scheduler.policy.compiled import CompiledPolicy
from fairlead_scheduler.policy.gcra import release_us

OPEN_ENDED = ("paused", "full", "hold", "pool")
"""Reasons that may block a job for an unknown time."""


class Question(NamedTuple):
    """A user's question about a job."""

    id: int
    """Of the question."""
    queue: str
    tenant: str
    ahead: int
    """Jobs of its lane before it, dispatched ones included."""
    job_id: int = 0
    rank: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class BlockingKey:
    """A concurrency key, or the limit of a kind, that blocks a job, and who holds its value."""

    key: str
    """Where in the job the value is."""
    value: str
    limit: int
    in_flight: int
    """Jobs of the value that are queued or run."""
    holders: tuple[int, ...]
    """Some of those jobs."""
    before: int
    """Jobs of its lane before it."""
    alike_before: int
    """Those among them that have the value too."""
    of_kind: bool = False
    """Whether it is the limit of a kind that workers say: `fleet_concurrency`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Position:
    """Where a lane or a queue stands among those that wait next to it."""

    weight: float
    weights: float
    """The sum of the weights of all that wait, its own included."""
    lag_us: int
    """Its start tag minus virtual time: what it has had beyond its share, over its weight."""
    in_flight: int
    blocked_by: str | None
    """`limit`, `rate`, `paused`, `full`, `hold`, `pool`, `key`, `kind` or `reserve`: enough
    long jobs are in flight."""
    bounds: Limiter | None
    rule: str | None = None
    """The rule of the policy that blocks it."""
    bounded: int = 0
    """Jobs in flight of its bound siblings: they share the slots, and wait for no more."""
    capped_us: int | None = None
    """Since when the in-flight share cap alone lets others go first; None: it does not."""
    since_us: int = 0
    """Since when it has been blocked, or not blocked."""
    waits_us: int = 0
    """Since when it has waited, blocked or not."""
    blocked_seconds: Mapping[str, float] = field(default_factory=dict[str, float])
    """How long of that each reason blocked it."""

    @property
    def share(self) -> float:
        """Its part of what all waiting ones get."""
        return self.weight / self.weights


@dataclass(frozen=True, slots=True, kw_only=True)
class LaneSnapshot:
    """What a plan would begin from, for one job."""

    now_us: int
    slots: int
    free: int
    unclaimed: int
    mean_us: int
    """Mean run time of all jobs lately."""
    expected_us: int
    """Expected run time of a job of this lane."""
    lane: Position
    queue: Position
    key: BlockingKey | None = None
    """What blocks the job itself."""
    key_us: int = 0
    """Since when it has."""
    job_rule: str | None = None
    """The rule of the policy that blocks the job itself."""
    job_rule_us: int = 0
    """Since when this rule, or one before it, has."""
    band: str = ""
    above: bool = False
    """Whether a lane or a row waits in a band above."""
    pool: str | None = "default"
    """The pool whose workers it is for."""
    contention_us: int = 0
    """Since when unblocked lanes have waited for what they wait for."""
    used: float = 1.0
    """The part of the slots' time that runs fill while no slot is free."""
    gap_us: int = 0
    """How much longer a job is in flight than it runs."""

    @property
    def contention(self) -> str:
        """What unblocked lanes wait for."""
        return contention(above=self.above, busy=self.free <= self.unclaimed)


@dataclass(frozen=True, slots=True)
class WaitTimes:
    """For how long a tenant or queue has waited without a break, and was blocked."""

    seconds: float
    blocked_seconds: Mapping[str, float]
    """By reason; the rest of the time it waited for its turn."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """Why the job does not run, and when it will."""

    blocked_by: str
    """`paused`, `full` (as many as the pool has slots wait for a worker with room for their
    kind), `hold`, `pool` (none serves its queue), `limit`, `rate`, `reserve` (its jobs are
    long, and the other slots are reserved for short ones), `key`, `kind` (as many of its kind
    as workers say are in flight in the fleet), `band` (those of bands above go first), `cap`
    (it has its share of the slots in flight, more than once), `capacity` (no slot is free) or
    `turn` (others go first)."""
    by: str | None
    """Whose limit, rate, hold, pause or cap it is: `queue` or `tenant`. With `key` what waits:
    `queue`, until values are read, `tenant`, for the jobs before this one, or None: the job
    itself. With `hold` None is the job itself, too."""
    blocked_since: str
    """Since when this has been what blocks it, as far as this leader knows; in ISO form."""
    blocked_seconds: float
    waited: Mapping[str, WaitTimes]
    """The waits of its `tenant` and its `queue`."""
    ahead: int
    """Pending jobs of its lane before it."""
    lag_slot_seconds: float
    """How far its lane is ahead of its share; below zero it is behind."""
    starts_in_seconds: float | None
    """None: not while the pause, the rule or the wait of others lasts, or there is no slot."""
    key: BlockingKey | None = None
    """The key that blocks the job, if it is one of the first of its lane."""
    rule: str | None = None
    """The rule of the policy that blocks its tenant, its queue or the job itself."""
    pool: str | None = None
    """The pool whose workers it is for; None: no pool serves its queue."""


@dataclass(frozen=True, slots=True)
class QueuedAnswer:
    """Why no worker has claimed a job that is dispatched."""

    blocked_by: str | None
    """`full` (workers have no room for more of its kind), `capacity` (no slot is free), or
    None: a worker is about to claim it."""
    sentence: str
    state: str = "queued"
    """For which state of the job this is an answer."""


def queued_answer(pool: str, *, slots: int, free: int, passed_over: bool) -> QueuedAnswer:
    """Explain one queued job.

    Args:
        pool: Whose workers it is for.
        slots: Of the pool's workers that take new jobs.
        free: How many of those hold nothing.
        passed_over: Whether a worker with free slots has left it for want of room for its kind.
    """
    if slots < 1:
        reason, why = "capacity", f"no worker of pool '{pool}' takes jobs: start one"
    elif passed_over:
        reason, why = "full", f"it waits for a worker with room for its kind: {_FULL}"
    elif free < 1:
        reason, why = "capacity", "no slot is free"
    else:
        reason, why = None, "slots are free, and a worker is about to claim it"
    return QueuedAnswer(reason, f"it is dispatched; {why}")


_FULL = "its `concurrency` is reached, its processes are busy, or only others have a handler"


def answer(question: Question, snapshot: LaneSnapshot) -> Answer:
    """Explain one pending job."""
    lane, queue = snapshot.lane, snapshot.queue
    ahead = max(0, question.ahead - lane.in_flight)
    blocked = queue if queue.blocked_by else lane
    reason = blocked.blocked_by
    if reason not in ("paused", "pool") and (queue.rule or lane.rule):
        blocked, reason = queue if queue.rule else lane, "hold"
    rule = blocked.rule if reason == "hold" else None
    since_us = blocked.since_us
    by: str | None = "queue" if blocked is queue or reason == "pool" else "tenant"
    key = snapshot.key if reason in (None, "key", "kind") else None
    if key is not None:
        reason = "kind" if key.of_kind else "key"
        by, ahead, since_us = None, key.before, snapshot.key_us
    elif snapshot.job_rule is not None and reason != "paused" and rule is None:
        reason, by, rule, since_us = "hold", None, snapshot.job_rule, snapshot.job_rule_us
    elif reason is None:
        reason, by, since_us = _unblocked(snapshot)
    return Answer(
        blocked_by=reason,
        by=by,
        blocked_since=iso_instant(since_us),
        blocked_seconds=max(0.0, (snapshot.now_us - since_us) / 1e6),
        waited={
            "tenant": _waited(lane, snapshot.now_us),
            "queue": _waited(queue, snapshot.now_us),
        },
        ahead=ahead,
        lag_slot_seconds=lane.lag_us * lane.weight / 1e6,
        starts_in_seconds=_starts_in(snapshot, ahead, key)
        if reason not in OPEN_ENDED
        else None,
        key=key,
        rule=rule,
        pool=snapshot.pool,
    )


def _unblocked(snapshot: LaneSnapshot) -> tuple[str, str | None, int]:
    """Return what an unblocked lane waits for, whose cap it is, and since when."""
    lane, queue = snapshot.lane, snapshot.queue
    for by, each in () if snapshot.above else (("queue", queue), ("tenant", lane)):
        if each.capped_us is not None:
            return "cap", by, each.capped_us
    return snapshot.contention, None, max(lane.since_us, queue.since_us, snapshot.contention_us)


def _waited(position: Position, now_us: int) -> WaitTimes:
    return WaitTimes(max(0.0, (now_us - position.waits_us) / 1e6), position.blocked_seconds)


def _starts_in(snapshot: LaneSnapshot, ahead: int, key: BlockingKey | None) -> float | None:
    """Estimate how long it takes until a job starts that has so many before it in its lane."""
    if snapshot.slots < 1:
        return None
    lane, queue = snapshot.lane, snapshot.queue
    in_flight_us = snapshot.expected_us + snapshot.gap_us
    slots = every = snapshot.slots * snapshot.used
    for each in (queue, lane):
        left = max(slots - each.bounded, min(slots, 1.0))
        slots = min(left * each.share, _limit(each) * snapshot.expected_us / in_flight_us)
    work_us = ahead * snapshot.expected_us + max(0, lane.lag_us) * lane.weight
    wait_us = work_us / slots
    if key is not None:
        wait_us = max(wait_us, (key.alike_before + 1) * in_flight_us / key.limit)
    for each in (queue, lane):
        wait_us = max(wait_us, _rated(each, ahead, snapshot.now_us))
        if each.blocked_by == "limit":
            wait_us = max(wait_us, in_flight_us / _limit(each))
    if lane.blocked_by == "reserve":
        wait_us = max(wait_us, snapshot.expected_us / every)
    elif snapshot.free <= snapshot.unclaimed:
        wait_us += (snapshot.unclaimed - snapshot.free + 1) * snapshot.mean_us / every
    return round(wait_us / 1e6, 3)


def _limit(position: Position) -> float:
    return float("inf") if position.bounds is None else position.bounds.limit


def _rated(position: Position, ahead: int, now_us: int) -> float:
    """Return how long the rates block a job that has so many before it."""
    bounds = position.bounds
    if bounds is None or not bounds.rates:
        return 0.0
    pairs = zip(bounds.rates, bounds.arrivals, strict=True)
    latest = max(release_us(rate, arrival + ahead * rate.per_us) for rate, arrival in pairs)
    return max(0.0, latest - now_us)


def as_json(found: Answer | QueuedAnswer | None, table: CompiledPolicy) -> str:
    """Return an answer as JSON, with a sentence for people and the policy in force."""
    policy = {"version": table.stored, "digest": table.digest} if table.stored else None
    if found is None:
        said = "the leader has not seen it yet, or has just dispatched it: ask again"
        return json.dumps({"blocked_by": None, "policy": policy, "sentence": said})
    said = found.sentence if isinstance(found, QueuedAnswer) else _sentence(found)
    return json.dumps({**asdict(found), "policy": policy, "sentence": said})


_WHY = {
    "limit": "the limit of its {by} is reached",
    "rate": "the rate of its {by} is used up",
    "reserve": "its jobs may be long, and the slots that those leave free are for short ones",
    "band": "jobs of bands above its own go first",
    "cap": "its {by} has more than its share of the slots in flight",
    "turn": "others go first",
    "capacity": "no slot is free",
}


def _sentence(found: Answer) -> str:
    behind = f" behind {found.ahead} others of its tenant" if found.ahead else ""
    about = f"about {found.starts_in_seconds:.1f} s" if found.starts_in_seconds else "a moment"
    so_far = f" (for {found.blocked_seconds:.1f} s)" if found.blocked_seconds >= 0.05 else ""
    if found.blocked_by == "paused":
        return f"its {found.by} is paused{so_far}: resume it"
    if found.blocked_by == "full":
        return (
            f"others of its tenant wait for a worker with room for their kind{so_far}: {_FULL}"
        )
    if found.blocked_by == "hold":
        return f"{_rule_sentence(found)}{so_far}"
    if found.blocked_by == "pool":
        return f"no pool of the policy serves its queue{so_far}: name it in the queues of one"
    if found.starts_in_seconds is None:
        return f"no worker of pool '{found.pool}' is there: start one"
    by_key = found.blocked_by in ("key", "kind")
    why = _key_sentence(found) if by_key else _WHY[found.blocked_by].format(by=found.by)
    return f"{why}{so_far}: it starts in {about}{behind}"


def _rule_sentence(found: Answer) -> str:
    """Return which rule blocks a job, or all those before it."""
    if found.rule is None:
        return "rules block all jobs of its tenant that are checked before it"
    target = "it" if found.by is None else f"its {found.by}"
    return f"the policy's rule {found.rule} blocks {target}"


def _key_sentence(found: Answer) -> str:
    """Return which key blocks a job, or those before it."""
    key = found.key
    if key is not None and key.of_kind:
        return f"kind {key.value}: {key.in_flight} of {key.limit} in flight in the fleet"
    if key is not None:
        value = display(key.value)
        return f"{key.in_flight} jobs with {key.key} = {value} of {key.limit} are in flight"
    if found.by == "queue":
        return "the values of its queue's keys are being read"
    what = "keys" if found.blocked_by == "key" else "limits of kinds"
    return f"{what} block all jobs that are checked before it"
