"""Which running jobs are asked to make room for tenants that have waited without any slot.

A worker cannot be taken from a running job; a job whose handler agreed can be asked to stop,
and runs again later. That costs work, so it is the last resort: all slots are taken, a lane
that has none has waited for so long, and its row is so near the front of the claim order that
it gets a slot that becomes free. No lane is left with less than its fair share. Where slots are
kept for short jobs, all slots for long ones are taken when a lane waits for them.

Only the database knows which attempts are evictable. So a need names candidates, the database
says which of those agreed, and `choose` chooses.
"""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from heapq import nlargest, nsmallest
from typing import NamedTuple

from fairlead_scheduler.limits.blocked_reasons import RESERVE
from fairlead_scheduler.ordering.blocked import is_paused
from fairlead_scheduler.ordering.in_flight import UNCLAIMED
from fairlead_scheduler.ordering.lanes import Lane
from fairlead_scheduler.ordering.ledger import Ledger
from fairlead_scheduler.pending.values import NOTHING_PAUSED, Paused

SLOTS_MAX = 4
"""How many slots are made free at a time, at most."""
FRONT_MAX = 64
"""How far behind the first row of the claim order a waiting lane's may be."""
HOLDERS_MAX, CANDIDATES_MAX = 20, 25
"""How many lanes are candidates at most, and how many attempts of each."""
_SHARE_LEAST = 1e-9
_ASKED_US_MAX = 60_000_000
"""How long an attempt that was asked is expected to stop: the worker kills it sooner."""

LaneName = tuple[str, str]
"""A queue and a tenant."""


class Waiting(NamedTuple):
    """A lane without a slot that has waited for long enough."""

    lane: LaneName
    band: int
    waited_us: int


class Holder(NamedTuple):
    """A lane that has slots in one band."""

    lane: LaneName
    band: int
    running: int
    share: float
    """How many slots of the band it is entitled to, by weight among the lanes with work."""
    attempts: tuple[int, ...]
    """Its jobs that run, the one that was claimed last first: it loses least work."""


class EvictionNeed(NamedTuple):
    """How many slots are to be made free, for whom, and whom they may be taken from."""

    pool: str
    slots: int
    """One for each lane, and one for each row before theirs in the claim order that stays."""
    waiting: tuple[Waiting, ...]
    holders: tuple[Holder, ...]
    recalled: tuple[int, ...] = ()
    """Rows to be recalled first, of lanes that have more than their shares: they would get the
    slots that become free. They are queued anew, with tags that count what runs by now."""


class Victim(NamedTuple):
    """A running attempt to be asked to stop."""

    job_id: int
    token: int
    lane: LaneName
    waiting: Waiting


class EvictionWatch:
    """Since when the lanes of one pool have waited without a slot, and who was asked to stop.

    A new leader knows neither: lanes wait anew, and the database refuses to ask a job again.
    """

    def __init__(self) -> None:
        self._since_us: dict[LaneName, int] = {}
        self._asked: dict[int, tuple[int, int]] = {}
        """When each of these jobs was claimed, and when it was asked to stop."""

    def observe(self, ledgers: Sequence[Ledger], now_us: int) -> None:
        """Note which lanes have work that waits, and nothing that runs."""
        running, waiting = set[Lane](), {*_waiting_lanes(ledgers)}
        for ledger in ledgers:
            for job in ledger.in_flight_jobs.values():
                (running if job.claimed_us >= 0 else waiting).add(job.lane)
        run = {lane.owner for lane in running}
        wait = {lane.owner for lane in waiting}
        since_us = self._since_us.get
        self._since_us = {lane: since_us(lane, now_us) for lane in wait - run}

    def asked(self, ids: Collection[int], ledgers: Sequence[Ledger], now_us: int) -> None:
        """Note which jobs were asked to stop; the slots that they have count as free soon."""
        for job_id in ids:
            for ledger in ledgers:
                job = ledger.in_flight_jobs.get(job_id)
                if job is not None and job.claimed_us >= 0:
                    self._asked[job_id] = job.claimed_us, now_us

    def need(
        self,
        pool: str,
        ledgers: Sequence[Ledger],
        now_us: int,
        *,
        after_us: int,
        slots: int,
        free: int = 0,
        passed_over: Collection[int] = (),
        paused: Paused = NOTHING_PAUSED,
    ) -> EvictionNeed | None:
        """Return what is needed now, as of the last `observe`; None: nothing.

        Args:
            pool: Its name.
            ledgers: Those of its bands, the first band first.
            now_us: The database's time.
            after_us: How long a lane waits until others are asked to make room for it.
            slots: Of the pool's live workers.
            free: How many of those hold nothing.
            passed_over: Rows that wait for room for their kinds and not for a slot.
            paused: What must not run: its rows are recalled.
        """
        due_us = now_us - after_us
        if not any(since_us <= due_us for since_us in self._since_us.values()):
            return None
        holders = _holders(ledgers, slots)
        if not holders:
            return None
        turns = _Turns(self._since_us, due_us, holders)
        for job_id, lane in () if free else _front(ledgers, passed_over, paused):
            turns.add(lane, job_id)
        for lane in self._without_rows(ledgers, free):
            turns.add(lane, None)
        wanted = turns.slots - self._count_asked(ledgers, now_us)
        if wanted <= 0:
            return None
        waiting = tuple(
            Waiting(lane.owner, lane.band, now_us - self._since_us[lane.owner])
            for lane in turns.waiting
        )
        return EvictionNeed(pool, wanted, waiting, holders, tuple(turns.recalled))

    def _without_rows(self, ledgers: Sequence[Ledger], free: int) -> list[Lane]:
        """Return the lanes that have waited longest of those without a row in the queue.

        The queue is as deep as it may be, or all slots for long jobs are taken.
        """
        idle = (
            lane
            for lane in _waiting_lanes(ledgers)
            if not lane.in_flight
            and (not free or lane.blocked_by == RESERVE)
            and lane.owner in self._since_us
        )
        return nsmallest(
            SLOTS_MAX, idle, key=lambda lane: (lane.band, self._since_us[lane.owner])
        )

    def _count_asked(self, ledgers: Sequence[Ledger], now_us: int) -> int:
        """Return how many that were asked to stop still run."""
        self._asked = {
            job_id: asked
            for job_id, asked in self._asked.items()
            if now_us - asked[1] < _ASKED_US_MAX
            and any(
                job_id in ledger.in_flight_jobs
                and ledger.in_flight_jobs[job_id].claimed_us == asked[0]
                for ledger in ledgers
            )
        }
        return len(self._asked)


class _Turns:
    """Whose turn it is, row by row in the claim order, when slots become free."""

    def __init__(
        self, since_us: Mapping[LaneName, int], due_us: int, holders: Collection[Holder]
    ) -> None:
        self._due = {lane for lane, since in since_us.items() if since <= due_us}
        self._givers = {
            (each.lane, each.band) for each in holders if _keeps_share(each, each.running - 1)
        }
        self._others = 0
        self._ahead: list[int] = []
        self.waiting: list[Lane] = []
        self.recalled: list[int] = []
        """Rows of lanes beyond their shares before those of the waiting lanes."""
        self.slots = 0
        """How many are needed until the last of the waiting lanes has one."""

    def add(self, lane: Lane, job_id: int | None) -> None:
        """Take the next row, or the next lane without one."""
        if len(self.waiting) + self._others >= SLOTS_MAX:
            return
        if lane.owner in self._due and lane not in self.waiting:
            self.waiting.append(lane)
            self.recalled += self._ahead
            self._ahead = []
            self.slots = len(self.waiting) + self._others
        elif job_id is not None and (lane.owner, lane.band) in self._givers:
            self._ahead.append(job_id)
        else:
            self._others += 1


def choose(need: EvictionNeed, tokens: Mapping[int, int]) -> tuple[Victim, ...]:
    """Choose whom to ask to stop, among candidates that agreed and may be asked now.

    They are of the lane that has most slots for its share, of a lower band before others.

    Args:
        need: What is needed.
        tokens: The evictable candidates, with the tokens of their attempts.
    """
    left = {holder: holder.running for holder in need.holders}
    may_stop = {
        holder: [each for each in reversed(holder.attempts) if each in tokens]
        for holder in need.holders
    }
    victims: list[Victim] = []
    for place in range(need.slots):
        waiting = need.waiting[min(place, len(need.waiting) - 1)]
        givers = [x for x in need.holders if may_stop[x] and _may_give(x, left[x], waiting)]
        if not givers:
            break
        giver = max(givers, key=lambda x: (x.band, left[x] / max(x.share, _SHARE_LEAST)))
        left[giver] -= 1
        job_id = may_stop[giver].pop()
        victims.append(Victim(job_id, tokens[job_id], giver.lane, waiting))
    return tuple(victims)


def _may_give(holder: Holder, running: int, waiting: Waiting) -> bool:
    """Whether a lane may lose one of so many slots: in its own band only beyond its share."""
    if holder.band != waiting.band:
        return holder.band > waiting.band and running > 0
    return _keeps_share(holder, running - 1)


def _keeps_share(holder: Holder, running: int) -> bool:
    return running >= holder.share - _SHARE_LEAST


def _front(
    ledgers: Sequence[Ledger], passed_over: Collection[int], paused: Paused
) -> list[tuple[int, Lane]]:
    """Return the rows that would be claimed next, with their lanes."""
    rows = (
        (ledger.band, job.root_tag, job_id, job.lane)
        for ledger in ledgers
        for job_id, job in ledger.in_flight_jobs.items()
        if job.claimed_us == UNCLAIMED
        and job_id not in passed_over
        and not (paused and is_paused(paused, job.lane))
    )
    first = nsmallest(FRONT_MAX, rows, key=lambda row: row[:3])
    return [(job_id, lane) for _, _, job_id, lane in first]


def _waiting_lanes(ledgers: Sequence[Ledger]) -> Iterator[Lane]:
    """Yield the lanes with a job to dispatch, or that wait for a long one's slot."""
    for ledger in ledgers:
        for queue in ledger.queues.values():
            if queue.branch.accounts.active or ledger.places is not None:
                for lane in queue.all_lanes():
                    if (queue.active and lane.active) or lane.blocked_by == RESERVE:
                        yield lane


def _holders(ledgers: Sequence[Ledger], slots: int) -> tuple[Holder, ...]:
    """Return the lanes that have most slots for their shares, of lower bands before others."""
    found: list[Holder] = []
    for ledger in ledgers:
        jobs = ledger.in_flight_jobs.values()
        running = _by_name(Counter(job.lane for job in jobs if job.claimed_us >= 0))
        lanes = {*_waiting_lanes((ledger,)), *(job.lane for job in jobs)}
        shares = _shares(lanes, slots)
        most = nlargest(
            HOLDERS_MAX, running, key=lambda x: running[x] / max(shares[x], _SHARE_LEAST)
        )
        attempts = _attempts(ledger, most)
        found += [Holder(x, ledger.band, running[x], shares[x], attempts[x]) for x in most]
        slots = max(0, slots - sum(running.values()))
    found.reverse()
    return tuple(found[:HOLDERS_MAX])


def _by_name(counts: Mapping[Lane, int]) -> dict[LaneName, int]:
    """Add up what lanes of one name have: jobs that came from another band have their own."""
    found: dict[LaneName, int] = {}
    for lane, count in counts.items():
        found[lane.owner] = found.get(lane.owner, 0) + count
    return found


def _shares(lanes: Collection[Lane], slots: int) -> dict[LaneName, float]:
    """Return how many of these slots each of the lanes is entitled to.

    The lanes of one account have equal parts of its share.
    """
    named = {lane.owner: lane for lane in lanes}
    parts = Counter(lane.account for lane in named.values())
    weights = dict.fromkeys((account.branch for account in parts), 0.0)
    for account in parts:
        weights[account.branch] += account.weight
    per_weight = slots / (sum(branch.weight for branch in weights) or 1.0)
    return {
        name: per_weight * branch.weight * (account.weight / weights[branch]) / parts[account]
        for name, account, branch in (
            (name, lane.account, lane.account.branch) for name, lane in named.items()
        )
    }


def _attempts(ledger: Ledger, names: Collection[LaneName]) -> dict[LaneName, tuple[int, ...]]:
    """Return what runs of these lanes, the last claimed first."""
    queues = {ledger.queues[queue] for queue, _ in names}
    found: dict[LaneName, list[tuple[int, int]]] = {name: [] for name in names}
    for job_id, job in ledger.in_flight_jobs.items():
        if job.claimed_us >= 0 and job.lane.queue in queues and job.lane.owner in found:
            found[job.lane.owner].append((job.claimed_us, job_id))
    return {
        name: tuple(job_id for _, job_id in nlargest(CANDIDATES_MAX, each))
        for name, each in found.items()
    }
