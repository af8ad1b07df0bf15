"""Random histories of a world, played under a referee."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from random import Random

from fairlead_scheduler.pending.values import Stream
from tests.support.law import MS, Given, Key, Law, Owner, Window
from tests.support.referee import Referee
from tests.support.world import TICK_US, World

SECOND = 1_000_000
QUEUES, TENANTS, POOLS = ("q", "r", "s"), ("a", "b", "c"), ("default", "x", "y")
OWNERS: tuple[Owner, ...] = tuple((q, t) for q in QUEUES for t in (*TENANTS, None))
FIELDS = {"payload.account": ("1", "2", "3"), "headers.region": ("u", "v")}
TICKS = 100
OFTEN = ("crash", "crash", "lead")
EVENTS = (*OFTEN, *OFTEN, "fail", "slots", "pause", "cancel", "refuse", "sweep", "recall")


@dataclass(frozen=True, slots=True)
class Load:
    """Jobs that are alike: how many at once, how often, how long they take."""

    stream: Stream
    costs_us: tuple[int, ...]
    batch: int
    first_us: int
    every_us: int
    hinted: bool
    fields: tuple[dict[str, str], ...]


@dataclass(frozen=True, slots=True)
class Event:
    """An event, and its subject."""

    what: str
    pool: str
    owner: Owner
    count: int


@dataclass(frozen=True, slots=True)
class History:
    """The input of a world."""

    slots: dict[str, int]
    depth: int
    laws: tuple[Law, ...]
    loads: tuple[Load, ...]
    events: dict[int, tuple[Event, ...]]
    """By tick; laws are applied one after the other, evenly spread."""


def drawn(draw: Random) -> History:
    """Return a history drawn from this random source."""
    even = draw.random() < 0.4
    """Whether no job is blocked and nearly all have work, so that service must be even."""
    first = _law(draw, even=even)
    laws = [first, *(_edit(draw, first, even=even) for _ in range(draw.randint(0, 3)))]
    events: dict[int, tuple[Event, ...]] = {}
    for _ in range(draw.randint(0, 12)):
        tick = draw.randrange(TICKS)
        events[tick] = (*events.get(tick, ()), _event(draw))
    return History(
        slots={pool: draw.randint(1, 5 if even else 8) for pool in POOLS},
        depth=draw.choice((1 if any(law.waits_us for law in laws) else 0, 4, 20)),
        laws=tuple(laws),
        loads=tuple(_load(draw, even=even) for _ in range(draw.randint(1, 7))),
        events=events,
    )


def _law(draw: Random, *, even: bool) -> Law:
    owners = [owner for owner in OWNERS if draw.random() < 0.5]
    banded = draw.random() < (0.3 if even else 0.5)
    return Law(
        given={owner: _given(draw, even=even) for owner in owners},
        keys={} if even else {q: _keys(draw) for q in QUEUES if draw.random() < 0.3},
        waits_us=(0, 300 * MS, 400 * MS) if banded else (),
        bands={q: draw.randrange(3) for q in QUEUES if draw.random() < 0.2},
        pool_by_queue=_pool_by_queue(draw) if draw.random() < (0.2 if even else 0.5) else None,
        kept=draw.randint(1, 3) if not even and draw.random() < 0.15 else None,
        longer_us=100 * MS,
    )


def _edit(draw: Random, law: Law, *, even: bool) -> Law:
    """Return another policy that keeps much of the first one, most often its windows."""
    other = _law(draw, even=even)
    if draw.random() < 0.5:
        other = replace(law, given=other.given)
    kept = draw.random() < 0.7
    windows = {owner: law.of(owner).windows if kept else () for owner in OWNERS}
    given = {
        owner: replace(other.of(owner), windows=windows[owner] or other.of(owner).windows)
        for owner in OWNERS
        if owner in other.given or windows[owner]
    }
    return replace(other, given=given)


def _given(draw: Random, *, even: bool) -> Given:
    weight = draw.choice((0.5, 1.0, 1.0, 2.0, 4.0))
    if even:
        return Given(weight=weight)
    limit = draw.randint(1, 6) if draw.random() < 0.4 else None
    return Given(
        weight=weight,
        limit=limit,
        percent=draw.randint(10, 90) if limit is None and draw.random() < 0.2 else None,
        reserve=draw.randint(1, limit or 3) if draw.random() < 0.15 else None,
        windows=_windows(draw) if draw.random() < 0.35 else (),
    )


def _windows(draw: Random) -> tuple[Window, ...]:
    spans = (100 * MS, 700 * MS) if draw.random() < 0.4 else (draw.choice((200, 900)) * MS,)
    return tuple(Window(draw.randint(1, 40), span, draw.randint(1, 9)) for span in spans)


def _keys(draw: Random) -> tuple[Key, ...]:
    paths = [path for path in FIELDS if draw.random() < 0.7]
    return tuple(Key(path, draw.randint(1, 3), draw.random() < 0.5) for path in paths)


def _pool_by_queue(draw: Random) -> dict[str, str]:
    """Return the pools of queues; occasionally one has no pool."""
    pool_by_queue = {queue: draw.choice(POOLS) for queue in QUEUES if draw.random() < 0.85}
    return pool_by_queue or {QUEUES[0]: POOLS[0]}


def _load(draw: Random, *, even: bool) -> Load:
    flood = draw.random() < (0.9 if even else 0.5)
    longest, most = (50, 200) if even else (200, 150)
    costs = [draw.randint(5, longest) * MS for _ in range(draw.randint(1, 3))]
    return Load(
        stream=(
            draw.choice(QUEUES[: 2 if even else 3]),
            draw.choice(TENANTS),
            draw.choice((0, 0, 1, 2)),
        ),
        costs_us=tuple(costs),
        batch=draw.randint(60, most) if flood else draw.randint(1, 10),
        first_us=draw.randint(0, 1000) * MS if draw.random() < 0.3 else 0,
        every_us=10 * SECOND if flood else draw.randint(200, 1000) * MS,
        hinted=draw.random() < 0.3,
        fields=tuple(_fields(draw) for _ in range(draw.randint(1, 4))),
    )


def _fields(draw: Random) -> dict[str, str]:
    return {path: draw.choice(texts) for path, texts in FIELDS.items() if draw.random() < 0.8}


def _event(draw: Random) -> Event:
    return Event(
        draw.choice(EVENTS), draw.choice(POOLS), draw.choice(OWNERS), draw.randint(1, 8)
    )


class Played:
    """A history, played to its end under a referee."""

    def __init__(self, history: History) -> None:
        self.world = World(history.laws[0].document(), history.slots, depth=history.depth)
        self.referee = Referee(self.world, history.laws[0])
        for load in history.loads:
            self._arrive(load)
        every = TICKS // len(history.laws)
        for tick in range(TICKS):
            if tick and tick % every == 0 and tick // every < len(history.laws):
                self._edit(history.laws[tick // every])
            self._happen(history.events.get(tick, ()))
            self.world.tick()
            self.referee.look()
            self.world.advance()

    def drain(self) -> None:
        """End everything that is left, without further limits."""
        world = self.world
        world.paused = frozenset()
        world.refuse = lambda _: False
        world.depth = len(world.jobs)
        world.slots = dict.fromkeys(POOLS, len(world.jobs) + 1)
        world.apply(Law().document())
        for _ in range(60):
            world.tick()
            world.advance()

    @property
    def digest(self) -> str:
        """A digest of all plans."""
        return sha256(repr(self.world.plans).encode()).hexdigest()

    def _arrive(self, load: Load) -> None:
        number = 0
        for at_us in range(load.first_us, TICKS * TICK_US, load.every_us):
            for _ in range(load.batch):
                cost_us = load.costs_us[number % len(load.costs_us)]
                self.world.arrive(
                    at_us,
                    load.stream,
                    cost_us,
                    hint_us=cost_us if load.hinted else None,
                    fields=load.fields[number % len(load.fields)],
                )
                number += 1

    def _edit(self, law: Law) -> None:
        self.world.apply(law.document())
        self.referee.edited(law)

    def _happen(self, events: Sequence[Event]) -> None:
        world = self.world
        world.refuse = lambda _: False
        for event in events:
            match event.what:
                case "crash":
                    world.crash(event.count)
                case "fail":
                    world.fail(event.pool)
                case "lead":
                    world.fail_over()
                    self.referee.led()
                case "slots":
                    world.slots[event.pool] = event.count
                case "pause":
                    world.paused ^= {event.owner}
                case "cancel":
                    queue, tenant = event.owner
                    world.cancel((queue, tenant or TENANTS[0], event.count % 3))
                case "refuse":
                    world.refuse = lambda job_id: job_id % 2 == 0
                case "sweep":
                    world.sweep()
                case _:
                    world.recall([job_id for job_id in world.work if job_id % 3 == 0])
