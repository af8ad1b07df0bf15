"""What a fleet will have to deal with: what waits, what runs, and what comes as it came lately.

Run times are drawn from those that were measured, with a seed: each stream draws from a source
of its own, so that both policies meet the same jobs.
"""

from collections.abc import Callable, Iterable, Sequence
from random import Random

from fairlead_scheduler.order import NEVER
from fairlead_scheduler.simulation.alike import Alike
from fairlead_scheduler.simulation.fair import Draw, Inheritance
from fairlead_scheduler.simulation.fleet import Begun, Fleet
from fairlead_scheduler.simulation.notes import live_notes
from fairlead_scheduler.simulation.order import Row
from fairlead_scheduler.simulation.recorded import Recorded
from fairlead_scheduler.simulation.scene import Scene
from fairlead_scheduler.simulation.situation import ALONE, Ended, Past, Situation
from fairlead_scheduler.simulation.told import Known
from fairlead_scheduler.simulation.trace import Arrival, Lane
from fairlead_scheduler.values import QueueRow, Stream

ARRIVALS_MAX = 100_000
"""Where more would come, the simulation ends earlier."""
_ENDLESS = 1 << 40
_LATE_US = 100_000
"""What looks and round trips add to the time in which traffic is served."""
UNKNOWN_US = 100_000
"""How long a job takes where no job has ended lately: the estimator's own first guess."""


class RunTimes:
    """Measured run times: those of a kind, where any are known, of a lane or else its queue.

    Where none are, of the lane's other kinds, else of its queue's, else anybody's.
    """

    def __init__(self, ended: Sequence[Ended], seed: int) -> None:
        self._seed = seed
        self._alike = Alike[int]()
        self._of_all = [each.cost_us for each in ended] or [UNKNOWN_US]
        for each in ended:
            self._alike.add(each.lane, each.kind, each.cost_us)

    def known(self, lane: Lane, kind: str | None = None) -> Sequence[int]:
        """Return those that are most like those of a lane's jobs of this kind."""
        of_kind = () if kind is None else self._alike.of(lane, kind)
        return of_kind or self._alike.of(lane) or self._of_all

    def source(self, use: str, lane: Lane, rank: int = 0) -> Callable[[str | None], int]:
        """Return a source of run times for one use: the same again for the same seed."""
        random = Random(f"{self._seed}/{use}/{lane[0]}/{lane[1]}/{rank}").random

        def draw(kind: str | None) -> int:
            known = self.known(lane, kind)
            return known[int(random() * len(known))]

        return draw

    def draws(self) -> Draw:
        """Return the sources of what waits at the start, all at their beginning."""
        sources: dict[Stream, Callable[[str | None], int]] = {}

        def draw(stream: Stream, kind: str | None) -> int:
            source = sources.get(stream)
            if source is None:
                queue, tenant, rank = stream
                source = sources[stream] = self.source("waiting", (queue, tenant), rank)
            return source(kind)

        return draw


def live(situation: Situation, fleet: Fleet, *, until_us: int, seed: int) -> Scene:
    """Return the future of a fleet from now on, at most until then."""
    times = RunTimes(situation.ended, seed)
    those = situation.concerned
    pools = those.pools
    rows = _in_order(situation, fleet.by_pool)
    running = sum(row.claimed_us is not None for row in rows)
    jobs = [_in_flight(row, situation, times) for row in rows]
    again, until_us = _coming(situation, until_us)
    coming = _drawn(again, times)
    known = _known(situation, rows, again, seed)
    inherited = Inheritance(
        now_us=situation.now_us,
        rows=[row._replace(job_id=place) for place, row in enumerate(rows)],
        floors=situation.floors,
        used=situation.used,
        paused=situation.paused,
        waiting=situation.waiting,
    )
    return Scene(
        fleet=fleet,
        pools=pools,
        moves=bool(those.moves),
        jobs=(*jobs, *coming),
        until_us=until_us,
        inherited=inherited,
        begun=Begun(
            running=[
                (job.cost_us - (situation.now_us - (row.claimed_us or 0)), place)
                for place, (row, job) in enumerate(zip(rows[:running], jobs, strict=False))
            ],
            queued=[
                Row(row.band * NEVER + row.vtag, running + place, _place(row, pools))
                for place, row in enumerate(rows[running:])
            ],
            pools={place: _place(row, pools) for place, row in enumerate(rows[:running])},
            waiting=_waiting(situation),
        ),
        draws=times.draws,
        known=known,
        notes=live_notes(situation, known, (job.queue for job in coming)),
    )


def _known(
    situation: Situation, rows: Sequence[QueueRow], coming: Sequence[Past], seed: int
) -> Known | None:
    """Return what is known of the jobs; None: nothing is to be."""
    if situation.read is None:
        return None
    in_flight = situation.read.in_flight
    read = [*(in_flight.get(row.job_id) for row in rows), *(each.told for each in coming)]
    return Known(
        situation.read,
        places={place: told for place, told in enumerate(read) if told is not None},
        kinds={
            place: each.kind
            for place, each in enumerate(coming, len(rows))
            if each.kind is not None
        },
        seed=seed,
    )


def _place(row: QueueRow, pools: Sequence[str]) -> int:
    """Return for whose workers a row is; one without a pool is for those of the first."""
    return pools.index(row.pool) if row.pool else 0


def _waiting(situation: Situation) -> int:
    return _ENDLESS if situation.backlog_is_more else situation.backlog


def played(
    recorded: Recorded,
    fleet: Fleet,
    *,
    until_us: int,
    of: Situation | None = None,
) -> Scene:
    """Return recorded traffic, at most until then, for a fleet that has nothing else to do.

    It ends when all of it has been served, whatever came at once: at the latest when an order
    that leaves no slot idle, beginning with the last arrival, would have. With several pools
    it is the one with the fewest slots that may have to serve all of it.

    Args:
        recorded: The traffic.
        fleet: What serves it.
        until_us: When to stop.
        of: Which pools are played.
    """
    those = ALONE if of is None else of.concerned
    jobs = recorded.jobs[:ARRIVALS_MAX]
    costs_us = [job.cost_us for job in jobs] or [0]
    last_us = jobs[-1].at_us if jobs else 0
    slots = max(1, min(fleet.by_pool))
    served_us = last_us + -(-sum(costs_us) // slots) + max(costs_us) + _LATE_US
    return Scene(
        fleet=fleet,
        pools=those.pools,
        moves=bool(those.moves),
        jobs=jobs,
        until_us=min(until_us, served_us),
        inherited=Inheritance(),
        begun=Begun(),
        draws=RunTimes((), 0).draws,
        known=recorded.known,
        notes=recorded.notes,
    )


def _in_order(situation: Situation, slots: Sequence[int]) -> list[QueueRow]:
    """Return what runs, at most a job in each slot, and then what waits for a worker.

    A worker takes a few short jobs before it has slots for them: these wait as well.
    """
    claimed = sorted(
        (row for row in situation.rows if row.claimed_us is not None),
        key=lambda row: (row.claimed_us or 0, row.job_id),
    )
    left = list(slots)
    running: list[QueueRow] = []
    early: list[QueueRow] = []
    for row in claimed:
        place = _place(row, situation.concerned.pools)
        if left[place]:
            left[place] -= 1
            running.append(row)
        else:
            early.append(row._replace(claimed_us=None))
    unclaimed = [row for row in situation.rows if row.claimed_us is None]
    return [*running, *early, *unclaimed]


def _in_flight(row: QueueRow, situation: Situation, times: RunTimes) -> Arrival:
    """Return a job of `work_queue`; one that runs takes longer than it has run already."""
    told = situation.read.in_flight.get(row.job_id) if situation.read else None
    lane, kind = (row.queue, row.tenant), told.kind if told else None
    cost_us = times.source(f"in flight {row.job_id}", lane)(kind)
    if row.claimed_us is not None:
        ran_us = max(0, situation.now_us - row.claimed_us)
        longer = [each for each in times.known(lane, kind) if each > ran_us]
        if cost_us <= ran_us:
            cost_us = longer[row.job_id % len(longer)] if longer else ran_us + 1
    return Arrival(0, row.queue, row.tenant, cost_us)


def _coming(situation: Situation, until_us: int) -> tuple[list[Past], int]:
    """Return what comes, and until when: the last while again, and again if it is short."""
    while_us = max(1, min(situation.known_us, until_us))
    again = sorted(situation.arrivals(while_us), key=_but_told)
    found: list[Past] = []
    for begun_us in range(0, until_us, while_us) if again else ():
        for each in again:
            at_us = begun_us + each.at_us
            if at_us >= until_us:
                break
            if len(found) >= ARRIVALS_MAX:
                return found, at_us
            found.append(each._replace(at_us=at_us))
    return found, until_us


def _but_told(past: Past) -> tuple[int, Lane, int, int, str]:
    return (*past[:4], past.kind or "")


def _drawn(coming: Iterable[Past], times: RunTimes) -> list[Arrival]:
    """Return what comes, with run times for what has not ended yet."""
    sources: dict[Lane, Callable[[str | None], int]] = {}
    found: list[Arrival] = []
    for at_us, lane, priority, known_us, kind, _ in coming:
        if lane not in sources:
            sources[lane] = times.source("coming", lane)
        cost_us = known_us or sources[lane](kind)
        found.append(Arrival(at_us, *lane, cost_us, priority=priority))
    return found
