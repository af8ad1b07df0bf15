"""Jobs for a fleet in memory, what happens to it, and how far shares swing meanwhile."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass

from fairlead_scheduler.pending.cursors import SKIPPED_MAX
from fairlead_scheduler.policy.settings import FairSettings
from tests.support.fleet import Fleet, Job, Key


@dataclass(frozen=True)
class Load:
    """One lane's jobs: how many come at once, how often, how long they take."""

    lane: Key
    costs_us: tuple[int, ...]
    batch: int
    every_us: int
    hint_us: int | None = None
    rank: int = 0
    weight: float = 1.0


def arrive(fleet: Fleet, lanes: Iterable[Load], *, until_us: int) -> None:
    """Let the lanes' jobs arrive, batch by batch."""
    for load in lanes:
        times_us = range(0, until_us, load.every_us)
        _insert(fleet, load, [at_us for at_us in times_us for _ in range(load.batch)])


def flood(fleet: Fleet, lanes: Iterable[Load], *, jobs: int) -> None:
    """Let so many jobs of each lane arrive at the start."""
    for load in lanes:
        _insert(fleet, load, [0] * jobs)


def _insert(fleet: Fleet, load: Load, times_us: Iterable[int]) -> None:
    for number, at_us in enumerate(times_us):
        cost_us = load.costs_us[number % len(load.costs_us)]
        fleet.arrive(at_us, *load.lane, cost_us, rank=load.rank, hint_us=load.hint_us)


def happen(fleet: Fleet, what: str) -> tuple[int, ...]:
    """Let something happen between two ticks; returns the jobs that are pending again."""
    match what:
        case "return" if fleet.running:
            fleet.give_back(fleet.running[0][1])
        case "recall":
            waiting = tuple(job.id for job in fleet.work.values() if job.claimed_us is None)
            fleet.recall(waiting)
            return waiting
        case "fail over":
            fleet.fail_over()
        case "sweep":
            fleet.sweep()
        case _:
            pass
    return ()


def refuse_if(fleet: Fleet, what: str) -> None:
    """Let the database refuse every other job of the next plan, if that is what happens."""
    fleet.refuse = (lambda job_id: job_id % 2 == 0) if what == "refuse" else lambda _: False


def known_heads(fleet: Fleet, known_us: int) -> Iterator[Job]:
    """Yield the first jobs of each lane, so many as are passed over, that came before then.

    None behind one that has just come, whose values have yet to be read.
    """
    seen = Counter[Key]()
    for job in sorted(fleet.pending.values(), key=_place):
        known = job.arrived_us < known_us
        seen[job.lane] += 1 if known else SKIPPED_MAX
        if known and seen[job.lane] <= SKIPPED_MAX:
            yield job


def watch(fleet: Fleet, weights: Mapping[Key, float]) -> Callable[[Key, Key], float]:
    """Record how much service per weight each lane has had, every tick while all have work.

    Returns how far the difference of two of them has swung.
    """
    history: list[dict[Key, float]] = []

    def observe() -> None:
        if weights.keys() <= fleet.waiting.keys():
            history.append({lane: fleet.service_us(lane) / w for lane, w in weights.items()})

    def spread(one: Key, other: Key) -> float:
        gaps = [row[one] - row[other] for row in history]
        return max(gaps, default=0.0) - min(gaps, default=0.0)

    fleet.observe = observe
    return spread


def bound(fleet: Fleet, weights: Mapping[Key, float], one: Key, other: Key) -> float:
    """Return the bound for two lanes, in slot-microseconds per weight.

    Beside the specification's it has what a lane at the in-flight cap may fall behind.
    """
    share = 2 * fleet.slots / sum(weights.values())
    return share * FairSettings().refresh_us + sum(
        (1 + fleet.in_flight_max.get(lane, 0)) * fleet.cost_max_us[lane] / weights[lane]
        for lane in (one, other)
    )


def _place(job: Job) -> tuple[int, int]:
    return job.rank, job.seq
