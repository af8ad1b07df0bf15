"""Why a pending job does not run, and when it will: from where its lane stands.

The start is estimated as if work were a fluid: a lane drains at its share of the slots, so what
lies before a job, and what the lane owes the others, take so long. On top come bounds and busy
slots.
"""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import NamedTuple

from fairlead.policy.kinds import shown
from fairlead_scheduler.bounds import Bounds
from fairlead_scheduler.crowding import crowd
from fairlead_scheduler.rates import release_us
from fairlead_scheduler.report import instant
from fairlead_scheduler.terms import Table

ENDLESS = ("paused", "hold", "pool")
"""What may block a job for a time that nobody knows."""


class Question(NamedTuple):
    """A job about which somebody asks."""

    id: int
    """Of the question."""
    queue: str
    tenant: str
    ahead: int
    """Jobs of its lane before it, dispatched ones included."""
    job_id: int = 0
    rank: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyHold:
    """A concurrency key that holds a job back, and who has it."""

    key: str
    """Where in the job the value is."""
    value: str
    limit: int
    in_flight: int
    """Jobs of the value that are queued or run."""
    holders: tuple[int, ...]
    """Some of them."""
    before: int
    """Jobs of its lane before it."""
    alike_before: int
    """Those among them that have the value too."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """Where a lane or a queue stands among those that wait beside it."""

    weight: float
    weights: float
    """Of all that wait, itself included."""
    lag_us: int
    """Its start tag before virtual time: what it has had beyond its share, over its weight."""
    in_flight: int
    held: str | None
    """`limit`, `rate`, `paused`, `hold`, `pool`, `key` or `reserve`: enough long jobs are in
    flight."""
    bounds: Bounds | None
    rule: str | None = None
    """The rule of the policy that holds it."""
    bounded: int = 0
    """Jobs in flight of others beside it that a bound holds: they share the slots, and do not
    wait for more."""
    capped_us: int | None = None
    """Since when the in-flight share cap alone lets others go first; None: it does not."""
    since_us: int = 0
    """Since when it has been held back, or not."""
    waits_us: int = 0
    """Since when it has waited, held back or not."""
    held_seconds: Mapping[str, float] = field(default_factory=dict[str, float])
    """How long of that each reason held it back."""

    @property
    def share(self) -> float:
        """Its part of what all that wait get."""
        return self.weight / self.weights


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    """What a plan would begin from."""

    now_us: int
    slots: int
    free: int
    unclaimed: int
    mean_us: int
    """Of all jobs lately."""
    expected_us: int
    """Of a job of this lane."""
    lane: Standing
    queue: Standing
    key: KeyHold | None = None
    """What holds the job itself."""
    key_us: int = 0
    """Since when it has."""
    job_rule: str | None = None
    """The rule of the policy that holds the job itself."""
    job_rule_us: int = 0
    """Since when it, or one before it, has."""
    band: str = ""
    above: bool = False
    """Whether anybody waits in a band above."""
    pool: str | None = "default"
    """Whose workers it is for."""
    crowded_us: int = 0
    """Since when those whom nothing holds back have waited for what they wait for."""
    used: float = 1.0
    """Which part of the slots' time runs fill while no slot is free."""
    gap_us: int = 0
    """How much longer a job is in flight than it runs."""

    @property
    def crowd(self) -> str:
        """What those wait for whom nothing holds back."""
        return crowd(above=self.above, busy=self.free <= self.unclaimed)


@dataclass(frozen=True, slots=True)
class Waited:
    """For how long somebody has waited without a break, and how long of that it was held."""

    seconds: float
    held_seconds: Mapping[str, float]
    """By reason; the rest of the time it waited for its turn."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """Why it does not run, and when it will."""

    blocked_by: str
    """`paused`, `hold`, `pool` (none serves its queue), `limit`, `rate`, `reserve` (its jobs
    are long, and the other slots are kept for short ones), `key`, `band` (those of bands above
    go first), `cap` (it has its share of the slots in flight, more than once), `capacity` (no
    slot is free) or `turn` (others go first)."""
    by: str | None
    """Whose limit, rate, hold, pause or cap it is: `queue` or `tenant`. With `key` what waits:
    `queue`, until values are read, `tenant`, for the jobs before this one, or None: the job
    itself. With `hold` None is the job itself, too."""
    blocked_since: str
    """Since when this has been what blocks it, as far as this leader knows; in ISO form."""
    blocked_seconds: float
    waited: Mapping[str, Waited]
    """What its `tenant` and its `queue` have waited."""
    ahead: int
    """Pending jobs of its lane before it."""
    lag_slot_seconds: float
    """How far its lane is beyond its share; below zero it is behind it."""
    starts_in_seconds: float | None
    """None: not while the pause or the rule lasts, or there is no slot."""
    key: KeyHold | None = None
    """The key that holds the job, if it is one of the first of its lane."""
    rule: str | None = None
    """The rule of the policy that holds its tenant, its queue or itself."""
    pool: str | None = None
    """Whose workers it is for; None: no pool serves its queue."""


def answer(question: Question, scene: Scene) -> Answer:
    """Explain one pending job."""
    lane, queue = scene.lane, scene.queue
    ahead = max(0, question.ahead - lane.in_flight)
    held = queue if queue.held else lane
    reason = held.held
    if reason not in ("paused", "pool") and (queue.rule or lane.rule):
        held, reason = queue if queue.rule else lane, "hold"
    rule = held.rule if reason == "hold" else None
    since_us = held.since_us
    by: str | None = "queue" if held is queue or reason == "pool" else "tenant"
    key = scene.key if reason in (None, "key") else None
    if key is not None:
        reason, by, ahead, since_us = "key", None, key.before, scene.key_us
    elif scene.job_rule is not None and reason != "paused" and rule is None:
        reason, by, rule, since_us = "hold", None, scene.job_rule, scene.job_rule_us
    elif reason is None:
        reason, by, since_us = _unheld(scene)
    return Answer(
        blocked_by=reason,
        by=by,
        blocked_since=instant(since_us),
        blocked_seconds=max(0.0, (scene.now_us - since_us) / 1e6),
        waited={"tenant": _waited(lane, scene.now_us), "queue": _waited(queue, scene.now_us)},
        ahead=ahead,
        lag_slot_seconds=lane.lag_us * lane.weight / 1e6,
        starts_in_seconds=_starts_in(scene, ahead, key) if reason not in ENDLESS else None,
        key=key,
        rule=rule,
        pool=scene.pool,
    )


def _unheld(scene: Scene) -> tuple[str, str | None, int]:
    """Say what a lane waits for that nothing holds back, whose cap it is, and since when."""
    lane, queue = scene.lane, scene.queue
    for by, each in () if scene.above else (("queue", queue), ("tenant", lane)):
        if each.capped_us is not None:
            return "cap", by, each.capped_us
    return scene.crowd, None, max(lane.since_us, queue.since_us, scene.crowded_us)


def _waited(standing: Standing, now_us: int) -> Waited:
    return Waited(max(0.0, (now_us - standing.waits_us) / 1e6), standing.held_seconds)


def _starts_in(scene: Scene, ahead: int, key: KeyHold | None) -> float | None:
    """Estimate how long it takes until a job starts that has so many before it in its lane."""
    if scene.slots < 1:
        return None
    lane, queue = scene.lane, scene.queue
    flight_us = scene.expected_us + scene.gap_us
    slots = every = scene.slots * scene.used
    for each in (queue, lane):
        left = max(slots - each.bounded, min(slots, 1.0))
        slots = min(left * each.share, _limit(each) * scene.expected_us / flight_us)
    work_us = ahead * scene.expected_us + max(0, lane.lag_us) * lane.weight
    wait_us = work_us / slots
    if key is not None:
        wait_us = max(wait_us, (key.alike_before + 1) * flight_us / key.limit)
    for each in (queue, lane):
        wait_us = max(wait_us, _rated(each, ahead, scene.now_us))
        if each.held == "limit":
            wait_us = max(wait_us, flight_us / _limit(each))
    if lane.held == "reserve":
        wait_us = max(wait_us, scene.expected_us / every)
    elif scene.free <= scene.unclaimed:
        wait_us += (scene.unclaimed - scene.free + 1) * scene.mean_us / every
    return round(wait_us / 1e6, 3)


def _limit(standing: Standing) -> float:
    return float("inf") if standing.bounds is None else standing.bounds.limit


def _rated(standing: Standing, ahead: int, now_us: int) -> float:
    """Return how long the rates hold back whoever has so many before it."""
    bounds = standing.bounds
    if bounds is None or not bounds.rates:
        return 0.0
    pairs = zip(bounds.rates, bounds.arrivals, strict=True)
    latest = max(release_us(rate, arrival + ahead * rate.per_us) for rate, arrival in pairs)
    return max(0.0, latest - now_us)


def told(found: Answer | None, table: Table) -> str:
    """Return an answer as JSON, with a sentence for people and the policy in force."""
    policy = {"version": table.stored, "digest": table.digest} if table.stored else None
    if found is None:
        said = "the leader has not seen it yet, or has just dispatched it: ask again"
        return json.dumps({"blocked_by": None, "policy": policy, "said": said})
    return json.dumps({**asdict(found), "policy": policy, "said": _sentence(found)})


_WHY = {
    "limit": "the limit of its {by} is reached",
    "rate": "the rate of its {by} is used up",
    "reserve": "its jobs are long, and the slots that those leave free are for short ones",
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
    if found.blocked_by == "hold":
        return f"{_ruled(found)}{so_far}"
    if found.blocked_by == "pool":
        return f"no pool of the policy serves its queue{so_far}: name it in the queues of one"
    if found.starts_in_seconds is None:
        return f"no worker of pool '{found.pool}' is there: start one"
    held = found.blocked_by == "key"
    why = _held(found) if held else _WHY[found.blocked_by].format(by=found.by)
    return f"{why}{so_far}: it starts in {about}{behind}"


def _ruled(found: Answer) -> str:
    """Say which rule holds a job, or all those before it."""
    if found.rule is None:
        return "rules hold all jobs of its tenant that are looked at before it"
    held = "it" if found.by is None else f"its {found.by}"
    return f"the policy's rule {found.rule} holds {held} back"


def _held(found: Answer) -> str:
    """Say which key holds a job, or those before it."""
    key = found.key
    if key is not None:
        value = shown(key.value)
        return f"{key.in_flight} jobs with {key.key} = {value} of {key.limit} are in flight"
    if found.by == "queue":
        return "the values of its queue's keys are being read"
    return "keys hold all that is looked at before it"
