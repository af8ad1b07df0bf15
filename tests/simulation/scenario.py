"""What a seed stands for: policies, load, workers, and what goes wrong when.

Policies and load are those of `tests.support.histories`; the faults are drawn here, a few kinds
for each seed, so that what one kind leads to is not always hidden behind another.
"""

from dataclasses import dataclass
from random import Random

from tests.simulation.session import Troubles
from tests.simulation.workers import Habits
from tests.support.histories import OWNERS, QUEUES, TENANTS, History, drawn
from tests.support.law import Owner
from tests.support.simulated_jobs import MS, SECOND

FAULTS_US = 7 * SECOND
"""From then on nothing goes wrong any more, and no policy changes."""
LEADER = ("kill", "kill", "freeze", "freeze followed")
DATABASE = ("clock", "burn ids", "lock", "cancel")
WORKERS = ("die", "die", "stall", "resize", "drain")
PEOPLE = ("pause", "edit")
KINDS = (LEADER, DATABASE, WORKERS, PEOPLE)
_CLOCK_STEPS_US = (50 * MS, 400 * MS, 5 * SECOND, 3600 * SECOND)


@dataclass(frozen=True, slots=True)
class Fault:
    """What happens at a time; what its numbers mean depends on what it is."""

    at_us: int
    what: str
    owner: Owner
    size: float
    """From 0 to 1."""
    choice: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    """The input of a simulation."""

    history: History
    troubles: Troubles
    habits: Habits
    faults: tuple[Fault, ...]
    late_inserts: float
    """The share of INSERTs whose transaction stays open for a while."""
    rolled_back: float
    lost_notices: float
    """The share of notifications that never arrive."""
    clock_steps_us: tuple[int, ...]
    """Of which the clock makes one, either way."""


def scenario_of(seed: int) -> Scenario:
    """Return what a seed stands for."""
    draw = Random(f"scenario {seed}")
    history = drawn(draw)
    chosen = [kind for kind in KINDS if draw.random() < 0.6]
    names = [name for kind in chosen for name in kind]
    faults = [
        Fault(
            draw.randrange(FAULTS_US),
            draw.choice(names),
            draw.choice(OWNERS),
            draw.random(),
            draw.randrange(1 << 16),
        )
        for _ in range(draw.randint(0, 10) if names else 0)
    ]
    edits = [
        Fault(draw.randrange(FAULTS_US), "edit", OWNERS[0], 0.0, 0)
        for _ in range(len(history.laws) - 1)
    ]
    faults += _moves(seed)
    often = draw.random() < 0.4
    return Scenario(
        history=history,
        troubles=Troubles(
            freezes=draw.choice((0.0, 1e-4, 5e-4)),
            losses=draw.choice((0.0, 2e-4, 1e-3)),
            refusals=draw.choice((0.0, 1e-2)),
            latency_us=draw.choice((200, 2 * MS, 10 * MS)),
        ),
        habits=Habits(
            failures=draw.choice((0.0, 0.1)),
            slow_commits=draw.choice((0.0, 0.05, 0.3)) if often else 0.0,
            open_us=draw.choice((300 * MS, 3 * SECOND, 7 * SECOND)),
            late_receipts=draw.choice((0.0, 0.2)),
        ),
        faults=tuple(sorted((*faults, *edits), key=lambda each: each.at_us)),
        late_inserts=draw.choice((0.0, 0.1, 0.5)),
        rolled_back=draw.choice((0.0, 0.1)),
        lost_notices=draw.choice((0.0, 0.0, 0.1)),
        clock_steps_us=_CLOCK_STEPS_US[: draw.randint(1, len(_CLOCK_STEPS_US))],
    )


def _moves(seed: int) -> list[Fault]:
    """Return when jobs are given other priorities: in a part of the seeds, and then often."""
    draw = Random(f"moves {seed}")
    many = draw.randint(1, 10) if draw.random() < 0.25 else 0
    return [
        Fault(
            draw.randrange(FAULTS_US),
            "move",
            draw.choice(OWNERS),
            draw.random(),
            draw.randrange(1 << 16),
        )
        for _ in range(many)
    ]


def stream_of(fault: Fault) -> tuple[str, str, int]:
    """Return the stream that a fault is about."""
    queue, tenant = fault.owner
    return (queue or QUEUES[0], tenant or TENANTS[0], fault.choice % 3)
