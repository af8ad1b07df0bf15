"""Random histories of attackers beside honest tenants, and small changes to them.

An attacker is a few tactics: what it inserts, again and again, for a time. Patterns that are
known to do harm are drawn often, and their numbers freely. All names of one weight that
attackers make up for single jobs are one account, as the promise has it. In half of the bursts
slots are kept for short jobs, as by default; elsewhere no slots are.
"""

import math
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from random import Random

from tests.support.attacked_fleet import MS, SECOND, Arrival, Arrivals, Scene
from tests.support.entitlements import Path
from tests.support.fleet import Key

SECONDS = 15
HINT_MAX_US = 30 * 86_400 * SECOND
JOBS_MAX = 3000
"""Of one tactic."""
COST_MAX_US = SECOND // 2
BURSTS = 1 << 32
"""From this seed on histories have bursts of names while honest tenants are idle."""
NEWCOMERS = "newcomers"
_KNOWN_TO_NEW = 36 / 7
"""Newcomers of one weight have the share of one, or that of one for so many that are known."""


@dataclass(frozen=True, slots=True)
class Tactic:
    """Jobs that an attacker inserts: a batch, again and again, for a time."""

    queue: str
    tenant: str
    cost_us: int
    hint_us: int | None
    batch: int
    every_us: int
    from_us: int
    until_us: int
    spray: str = ""
    """Whether each job has a `queue` or a `tenant` of its own."""


@dataclass(frozen=True, slots=True)
class Honest:
    """An honest tenant: it has work from a moment on, or, if quiet, a job now and then."""

    lane: Key
    costs_us: tuple[int, ...]
    from_us: int
    is_quiet: bool
    known_us: int = 0
    """Until when it has jobs before that, one after the other."""


@dataclass(frozen=True, slots=True)
class History:
    """The input of a scene."""

    slots: int
    depth: int
    honest: tuple[Honest, ...]
    tactics: tuple[Tactic, ...]
    weights: tuple[tuple[str, str, float], ...]
    """Of queues, with an empty tenant, and of tenants; all others weigh 1."""
    queues_share: bool = False
    """Whether no queue has a share of its own, so that a tenant has one account."""
    keeps_slots: bool = False
    """Whether slots are kept for short jobs, as by default; else a policy says otherwise."""

    def scene(self) -> Scene:
        """Return the history as a scene."""
        weights = {(queue, tenant): weight for queue, tenant, weight in self.weights}

        by_tenant: dict[str, float] = {}
        for (_, tenant), weight in weights.items():
            by_tenant[tenant] = max(weight, by_tenant.get(tenant, 0.0))

        known = {""} if self.queues_share else {queue for queue, _ in self._known()}
        tenants = Counter("" if self.queues_share else queue for queue, _ in self._known())

        def account(lane: Key) -> Path:
            queue, family = lane[0], lane[0].partition("-")[0]
            tenant = lane[1].partition("-")[0]
            if self.queues_share:
                return (_account(lane[1], by_tenant.get(tenant, 1.0), tenants[""]),)
            return (
                _account(queue, weights.get((family, ""), 1.0), len(known)),
                _account(lane[1], weights.get((family, tenant), 1.0), tenants[queue]),
            )

        return Scene(
            seconds=SECONDS,
            slots=self.slots,
            depth=self.depth,
            tick_us=5 * MS,
            honest=tuple(job for each in self.honest for job in _honest_jobs(each, self.slots)),
            attack=tuple(job for each in self.tactics for job in _jobs(each)),
            busy=tuple(each.lane for each in self.honest if not each.is_quiet),
            quiet=tuple(each.lane for each in self.honest if each.is_quiet),
            accounts=account,
            policy=self._policy(weights, by_tenant),
        )

    def _policy(
        self, weights: dict[Key, float], by_tenant: dict[str, float]
    ) -> dict[str, object]:
        queues = _sharing(by_tenant) if self.queues_share else _policy(weights)
        return {"fairness": {} if self.keeps_slots else {"reserve": None}, "queues": queues}

    def _known(self) -> set[Key]:
        """Return the lanes of those that make up no names."""
        return {each.lane for each in self.honest} | {
            (each.queue, each.tenant) for each in self.tactics if not each.spray
        }


def _account(name: str, weight: float, known: int) -> tuple[str, float]:
    """Return the account of a name, beside so many that are known at its level."""
    if "-" not in name:
        return name, weight
    return f"{NEWCOMERS} {weight}", weight * max(1.0, known / _KNOWN_TO_NEW)


def _sharing(weights: dict[str, float]) -> list[dict[str, object]]:
    overrides = [
        {"match": {"tenant": pattern}, "weight": weight}
        for tenant, weight in weights.items()
        if tenant
        for pattern in (tenant, f"{tenant}-*")
    ]
    return [{"match": {"queue": "*"}, "weight": None, "tenants": {"overrides": overrides}}]


def _policy(weights: dict[Key, float]) -> list[dict[str, object]]:
    return [
        {
            "match": {"queue": f"{queue}*"},
            "weight": weights.get((queue, ""), 1.0),
            "tenants": {
                "overrides": [
                    {"match": {"tenant": pattern}, "weight": weight}
                    for (name, tenant), weight in weights.items()
                    if name == queue and tenant
                    for pattern in (tenant, f"{tenant}-*")
                ]
            },
        }
        for queue in dict.fromkeys(queue for queue, _ in weights)
    ]


def _honest_jobs(honest: Honest, slots: int) -> Arrivals:
    costs_us = honest.costs_us
    if honest.is_quiet:
        every_us = 247 * MS
        times_us = list(range(honest.from_us, SECONDS * SECOND, every_us))
    else:
        mean_us = sum(costs_us) // len(costs_us)
        jobs = min(JOBS_MAX, slots * (SECONDS * SECOND - honest.from_us) // mean_us)
        times_us = [honest.from_us] * jobs
    every_us = max(50 * MS, 8 * max(costs_us) // slots)
    before_us = range(0, honest.known_us, every_us)
    return tuple(
        Arrival(at_us, honest.lane, costs_us[number % len(costs_us)])
        for number, at_us in enumerate((*before_us, *times_us))
    )


def _jobs(tactic: Tactic) -> Arrivals:
    times_us = [
        at_us
        for at_us in range(tactic.from_us, tactic.until_us, tactic.every_us)
        for _ in range(tactic.batch)
    ][:JOBS_MAX]
    jobs: list[Arrival] = []
    for number, at_us in enumerate(times_us):
        queue, tenant = tactic.queue, tactic.tenant
        if tactic.spray == "queue":
            queue = f"{queue}-{tenant}{number}"
        elif tactic.spray == "tenant":
            tenant = f"{tenant}-{number}"
        jobs.append(Arrival(at_us, (queue, tenant), tactic.cost_us, tactic.hint_us))
    return tuple(jobs)


def history_of(seed: int) -> History:
    """Return the history of a seed."""
    return (drawn if seed < BURSTS else drawn_burst)(Random(seed))


def drawn_burst(draw: Random) -> History:
    """Return one in which known tenants are idle, names come at once, and the tenants begin."""
    base = drawn(draw)
    at_us = draw.randint(3000, 6000) * MS
    honest = tuple(
        replace(each, from_us=at_us + draw.randrange(SECOND // 2), known_us=2 * SECOND)
        for each in base.honest
    )
    names = Tactic(
        draw.choice(("q", "r", "s")),
        "crowd",
        _cost(draw, 15 * MS, COST_MAX_US),
        draw.choice((None, _hint(draw))),
        int(_between(draw, 100, 2000)),
        20 * SECOND,
        at_us,
        SECONDS * SECOND,
        draw.choice(("queue", "tenant")),
    )
    beside = tuple(each for each in base.tactics if draw.random() < 0.25)
    weights = base.weights
    if draw.random() < 0.6:
        weights = tuple((queue, tenant, 1.0) for queue, tenant, _ in weights)
    weight = _between(draw, 0.001, 1000.0) if draw.random() < 0.2 else 1.0
    return replace(
        base,
        honest=honest,
        tactics=(*beside, names),
        weights=(*weights, (names.queue, names.tenant, weight)),
        queues_share=draw.random() < 0.25,
        keeps_slots=draw.random() < 0.5,
    )


def drawn(draw: Random) -> History:
    """Return a history drawn from this random source."""
    slots = draw.choice((2, 4, 8, 20))
    honest = _honest(draw)
    tactics = [
        tactic
        for number in range(draw.choice((1, 1, 2, 3)))
        for tactic in draw.choice(PATTERNS)(draw, draw.choice(("q", "r", "s")), f"liar{number}")
    ]
    weights = {
        (queue, tenant): _between(draw, 0.001, 1000.0) if draw.random() < 0.3 else 1.0
        for queue, tenant in (
            *(each.lane for each in honest),
            *((each.queue, each.tenant) for each in tactics),
            ("q", ""),
            ("r", ""),
            ("s", ""),
        )
    }
    return History(
        slots=slots,
        depth=draw.choice((slots // 2, slots)),
        honest=honest,
        tactics=tuple(tactics),
        weights=tuple((*owner, weight) for owner, weight in weights.items()),
    )


def _honest(draw: Random) -> tuple[Honest, ...]:
    busy = [
        Honest(
            lane=(draw.choice(("q", "q", "r")), name),
            costs_us=tuple(
                _cost(draw, 15 * MS, COST_MAX_US) for _ in range(draw.randint(1, 3))
            ),
            from_us=draw.choice((0, 500 * MS, draw.randrange(5 * SECOND))),
            is_quiet=False,
        )
        for name in ("a", "b", "c")[: draw.randint(2, 3)]
    ]
    quiet = Honest(
        lane=(draw.choice(("q", "r")), "quiet"),
        costs_us=(_cost(draw, 5 * MS, 100 * MS),),
        from_us=0,
        is_quiet=True,
    )
    return (*busy, quiet)


def _hint(draw: Random) -> int:
    return int(_between(draw, 1, HINT_MAX_US))


def _cost(draw: Random, lowest_us: int, highest_us: int) -> int:
    return int(_between(draw, lowest_us, highest_us))


def _between(draw: Random, lowest: float, highest: float) -> float:
    """Return a number between two, drawn evenly by its order of magnitude."""
    return lowest * math.exp(math.log(highest / lowest) * draw.random())


Pattern = Callable[[Random, str, str], tuple[Tactic, ...]]


def liar(draw: Random, queue: str, tenant: str) -> tuple[Tactic, ...]:
    """Hint anything, first or always."""
    at_us = draw.choice((0, draw.randrange(5 * SECOND)))
    first = Tactic(
        queue,
        tenant,
        _cost(draw, 15 * MS, COST_MAX_US),
        _hint(draw),
        draw.randint(1, 100),
        20 * SECOND,
        at_us,
        SECONDS * SECOND,
    )
    after = replace(
        first, hint_us=draw.choice((None, first.hint_us)), batch=draw.randint(50, 1000)
    )
    return first, replace(after, from_us=at_us + draw.randrange(SECOND))


def anchor(draw: Random, queue: str, tenant: str) -> tuple[Tactic, ...]:
    """Keep a lane that has had next to nothing, and wake another."""
    empty = Tactic(
        queue,
        tenant,
        1 * MS,
        draw.choice((None, _hint(draw))),
        draw.randint(1, 20),
        draw.randint(20, 500) * MS,
        0,
        SECONDS * SECOND,
    )
    wake_us = draw.randrange(10 * SECOND)
    second = replace(
        empty,
        tenant=f"{tenant}w",
        cost_us=_cost(draw, 20 * MS, COST_MAX_US),
        hint_us=None,
        batch=500,
        every_us=20 * SECOND,
        from_us=wake_us,
    )
    return empty, second


def training(draw: Random, queue: str, tenant: str) -> tuple[Tactic, ...]:
    """Insert many cheap jobs, then dear ones, or the other way round."""
    cheap_us, dear_us = _cost(draw, 1 * MS, 20 * MS), _cost(draw, 200 * MS, COST_MAX_US)
    costs_us = draw.choice(((cheap_us, dear_us), (dear_us, cheap_us)))
    first = Tactic(
        queue,
        tenant,
        costs_us[0],
        draw.choice((None, costs_us[0])),
        draw.randint(20, 500),
        20 * SECOND,
        0,
        SECONDS * SECOND,
    )
    return first, replace(
        first, cost_us=costs_us[1], batch=500, from_us=draw.randrange(1, 5 * SECOND)
    )


def spray(draw: Random, queue: str, tenant: str) -> tuple[Tactic, ...]:
    """Give each job a queue or a tenant of its own."""
    return (
        Tactic(
            queue if draw.random() < 0.5 else "s",
            tenant,
            _cost(draw, 15 * MS, 200 * MS),
            draw.choice((None, _hint(draw))),
            draw.randint(1, 8),
            20 * MS,
            draw.choice((0, 2 * SECOND)),
            draw.randint(3, SECONDS) * SECOND,
            draw.choice(("queue", "tenant")),
        ),
    )


def on_and_off(draw: Random, queue: str, tenant: str) -> tuple[Tactic, ...]:
    """Insert bursts, with pauses in between."""
    return (
        Tactic(
            queue,
            tenant,
            _cost(draw, 15 * MS, COST_MAX_US),
            draw.choice((None, _hint(draw))),
            draw.randint(5, 200),
            draw.randint(200, 4000) * MS,
            draw.randrange(SECOND),
            SECONDS * SECOND,
        ),
    )


PATTERNS: tuple[Pattern, ...] = (liar, anchor, training, spray, on_and_off)
