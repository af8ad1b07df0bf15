"""What two policies would do with the same traffic: waits and shares, side by side."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from fairlead_scheduler.simulation.fair import Fair
from fairlead_scheduler.simulation.fleet import Run, play
from fairlead_scheduler.simulation.scene import Scene
from fairlead_scheduler.simulation.trace import Lane
from fairlead_scheduler.simulation.waits import Wait, Waits, together
from fairlead_scheduler.terms import Table

CLAIMS_MAX = 25_000
"""With so many jobs started under a policy the simulation ends: it is to take seconds."""
_COUNTED = 0.9
"""What comes after so much of the time counts in no wait: it may not have had its turn."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Predicted:
    """What a policy does for some jobs."""

    share: float
    """Of all slot-time that is used, between 0 and 1."""
    p50: Wait | None
    """Waits from now on or from the job's arrival; None when no job counts."""
    p99: Wait | None
    started: int
    jobs: int
    """How many jobs count in the waits."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """What becomes of one tenant of a queue, or of several tenants together."""

    lanes: tuple[Lane, ...]
    old: Predicted
    new: Predicted


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """Two policies beside each other."""

    until_us: int
    """How long both were simulated."""
    lanes: tuple[Change, ...]
    """The tenants that the new policy changes most,"""
    other: Change | None
    """the others together, if there are any,"""
    whole: Change
    """and all of them; the share is that of all slot-time there is."""


@dataclass(frozen=True, slots=True)
class _Lane:
    served_us: int
    started: int
    waits: Waits


def compare(scene: Scene, old: Table, new: Table, *, lanes_max: int = 20) -> Comparison:
    """Simulate both policies for the same time, and say what becomes of whom."""
    runs = [_run(scene, table) for table in (old, new)]
    until_us = min(run.until_us for run in runs)
    of_old, of_new = (_lanes(run, scene, until_us) for run in runs)
    slot_us = scene.fleet.all_slots * until_us
    used_us = [sum(each.served_us for each in found.values()) for found in (of_old, of_new)]

    def change(lanes: Iterable[Lane], parts_us: Sequence[int]) -> Change:
        lanes = tuple(lanes)
        before, after = (
            _predicted([found[lane] for lane in lanes if lane in found], part_us)
            for found, part_us in zip((of_old, of_new), parts_us, strict=True)
        )
        return Change(lanes=lanes, old=before, new=after)

    everybody = sorted(of_old.keys() | of_new.keys())
    changes = sorted(
        (change((lane,), used_us) for lane in everybody),
        key=lambda each: (-_size(each, until_us), -each.new.share, each.lanes),
    )
    rest = [lane for each in changes[lanes_max:] for lane in each.lanes]
    return Comparison(
        until_us=until_us,
        lanes=tuple(changes[:lanes_max]),
        other=change(rest, used_us) if rest else None,
        whole=change(everybody, (slot_us, slot_us)),
    )


def _run(scene: Scene, table: Table) -> Run:
    jobs = list(scene.jobs)
    order = Fair(
        table,
        pools=scene.pools,
        moves=scene.moves,
        inherited=scene.inherited,
        jobs=jobs,
        draw=scene.draws(),
        known=scene.known,
    )
    return play(
        jobs, order, scene.fleet, scene.until_us, begun=scene.begun, claims_max=CLAIMS_MAX
    )


def _lanes(run: Run, scene: Scene, until_us: int) -> Mapping[Lane, _Lane]:
    """Return what each lane got until then, and how long its jobs waited."""
    running = len(scene.begun.running)
    counted_us = round(_COUNTED * until_us)
    served: dict[Lane, int] = defaultdict(int)
    started: dict[Lane, int] = defaultdict(int)
    waits: dict[Lane, Waits] = defaultdict(lambda: Waits(until_us=until_us))
    for place, (arrival, claimed_us, ended_us) in enumerate(run.jobs):
        lane, at_us = arrival.lane, arrival.at_us
        if at_us >= until_us:
            continue
        begins = claimed_us is not None and claimed_us < until_us
        if claimed_us is not None and begins:
            end_us = until_us if ended_us is None else min(ended_us, until_us)
            served[lane] += end_us - claimed_us
            started[lane] += place >= running
        if place < running or at_us > counted_us:
            continue
        if claimed_us is not None and begins:
            waits[lane].started_us.append(claimed_us - at_us)
        else:
            waits[lane].unstarted_us.append(until_us - at_us)
    _add_untouched(waits, run, scene)
    lanes = served.keys() | waits.keys()
    return {lane: _Lane(served[lane], started[lane], waits[lane]) for lane in lanes}


def _add_untouched(waits: Mapping[Lane, Waits], run: Run, scene: Scene) -> None:
    """Count what waits at the start and was never read: nothing else is known of it."""
    read: dict[Lane, int] = defaultdict(int)
    for arrival, _, _ in run.jobs[len(scene.jobs) :]:
        read[arrival.lane] += 1
    there: dict[Lane, int] = defaultdict(int)
    for (queue, tenant, _), each in scene.inherited.waiting.items():
        there[queue, tenant] += each.jobs
    for lane, jobs in there.items():
        waits[lane].untouched = max(0, jobs - read[lane])


def _predicted(lanes: Sequence[_Lane], whole_us: int) -> Predicted:
    waits = together(each.waits for each in lanes)
    return Predicted(
        share=sum(each.served_us for each in lanes) / whole_us if whole_us else 0.0,
        p50=waits.percentile(0.5),
        p99=waits.percentile(0.99),
        started=sum(each.started for each in lanes),
        jobs=waits.jobs,
    )


def _size(change: Change, until_us: int) -> float:
    """Return how much a tenant's share and its waits change, both as parts of what there is."""

    def moved(wait: Callable[[Predicted], Wait | None]) -> float:
        old, new = wait(change.old), wait(change.new)
        return abs((new.us if new else 0) - (old.us if old else 0)) / until_us

    by_wait = max(moved(lambda each: each.p50), moved(lambda each: each.p99))
    return round(abs(change.new.share - change.old.share) + by_wait, 6)
