"""One pool: the fair orders of its bands, strict between them, fair inside each.

Each band has a ledger of its own. The bands share what belongs to a queue or a tenant in all
bands together (limits, rates, pauses), and the depth, which counts from the top: a band never
waits for rows of the bands below it.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from operator import itemgetter
from typing import NamedTuple

from fairlead_scheduler.ordering import apply_policy
from fairlead_scheduler.ordering.aging import Aging
from fairlead_scheduler.ordering.blocked import Member
from fairlead_scheduler.ordering.fair_order import FairOrder
from fairlead_scheduler.ordering.lanes import Lane
from fairlead_scheduler.ordering.ledger import Ledger
from fairlead_scheduler.ordering.levels.accounts import Branch
from fairlead_scheduler.ordering.picker import Picker
from fairlead_scheduler.ordering.plan import BandPlan, Plan, PlannedRow, QueueRow
from fairlead_scheduler.ordering.pool_context import InFlightIds, PoolContext
from fairlead_scheduler.pending.cursors import LaneHeads
from fairlead_scheduler.pending.heads import Heads
from fairlead_scheduler.pending.values import NOTHING_PAUSED, Paused
from fairlead_scheduler.policy.compiled import CompiledPolicy


class PlanRoom(NamedTuple):
    """What a plan has room for."""

    now_us: int
    """The database's time."""
    slots: int
    """All slots of the pool's live workers."""
    depth: int
    """How many unclaimed rows there should be."""


class PoolOrders:
    """The fair orders of one pool's bands, the highest first, and what they share.

    The router sends events to each order; a pool plans.

    Args:
        name: None for queues that no pool serves; their jobs are blocked.
        table: The policy in force.
        context: What the bands share, with each other and with other pools.
        begun_us: Since when jobs wait that the leader did not see arrive, until `adopt`.
        reading: Whether a full read of `work_queue` for `reconcile` is under way.
    """

    def __init__(
        self,
        name: str | None,
        table: CompiledPolicy,
        context: PoolContext,
        *,
        begun_us: int,
        reading: bool,
    ) -> None:
        self.name = name
        self.orders: list[FairOrder] = []
        self.in_flight: Collection[int] = InFlightIds(self.orders)
        self.begun_us = begun_us
        self._table = table
        self._context = context
        self._grow(table.bands.count, reading=reading)
        self._apply_settings()

    @property
    def table(self) -> CompiledPolicy:
        """The policy in force."""
        return self._table

    @property
    def ledgers(self) -> list[Ledger]:
        """The ledgers of the bands, until the next `adopt`."""
        return [order.ledger for order in self.orders]

    @property
    def unclaimed(self) -> int:
        """How many rows of `work_queue` wait for a worker, by the ledgers."""
        return sum([order.unclaimed for order in self.orders])

    @property
    def mean_us(self) -> int:
        """The recent mean run time of a job, over all queues; the first prior at the start."""
        return self.orders[0].mean_us

    @property
    def floors(self) -> tuple[int, ...]:
        """The smallest unclaimed tag of each band, as far as the ledgers know."""
        return tuple(order.floor for order in self.orders)

    @property
    def may_exceed_limits(self) -> bool:
        """Whether more rows may wait than limits, bands or rules allow."""
        return self._table.rules.evaluated_per_job > 0 or any(
            order.may_exceed_limits for order in self.orders
        )

    @property
    def has_waiting(self) -> bool:
        """Whether a lane waits for service, or a row for a worker."""
        return any(ledger.has_waiting for ledger in self.ledgers)

    def overdue_rows(self, now_us: int) -> list[int]:
        """Return the unclaimed rows that have waited too long for their bands: recall them.

        Those are rows for which others of the bands above are claimed. They become heads then,
        and aged ones.
        """
        found: list[int] = []
        above = 0
        for order in self.orders:
            if above and order.unclaimed:
                found += order.overdue_rows(self._aging, now_us)
            above += order.unclaimed
        return found

    def lanes_of_blocked_queues(self) -> Counter[int]:
        """Return how many lanes wait because their queues are blocked, by reason."""
        return sum([order.lanes_of_blocked_queues() for order in self.orders], Counter[int]())

    def note_workers(self, *, free: int, ahead: int, idle: int) -> None:
        """Note how many slots live workers have free, and how many jobs wait there for one.

        `idle` slots have been free for a while, and no row waits for them.
        """
        slot_entry = self._context.slot_entry
        slot_entry.free, slot_entry.ahead_max, slot_entry.idle = free, ahead, idle

    def note_passed_over(self, ids: Collection[int], work_us: int) -> None:
        """Note which rows claims pass over, and how long these will take."""
        slot_entry = self._context.slot_entry
        slot_entry.passed_over, slot_entry.passed_over_us = ids, work_us

    def begin_plan(self, now_us: int, slots: int) -> None:
        """Begin a plan: charge what runs, and bring every virtual time up to date."""
        places = self.ledgers[0].places
        if places is not None:
            places.note_idle(self._context.slot_entry.idle, slots)
        for order in self.orders:
            order.begin_plan(now_us, slots)

    def plan(
        self,
        room: PlanRoom,
        heads: Heads,
        changed: Sequence[LaneHeads],
        freed: Sequence[Member],
        paused: Paused = NOTHING_PAUSED,
    ) -> Plan:
        """Plan what to dispatch, band by band, and count it; `begin_plan` came first.

        Args:
            room: What there is room for.
            heads: What is pending, of all pools; the picked are taken out of it.
            changed: The pool's lanes that have changed.
            freed: The pool's lanes and queues that may no longer be blocked.
            paused: What must not be dispatched.
        """
        if len(self.orders) == 1:
            order = self.orders[0]
            begun = (
                order.admit_changed(changed, paused) + order.unblock(freed) + order.readmit()
            )
            picks, overflow = order.pick(room.depth, room.slots, heads, begun)
            return _planned(self.orders, (picks,), overflow, self.name)
        waiting = _arrivals(self.orders, self._aging, changed, freed, paused)
        found, overflow = _pick_bands(self.orders, self._aging, room, heads, waiting)
        return _planned(self.orders, found, overflow, self.name)

    def apply(self, table: CompiledPolicy, now_us: int, *, reading: bool) -> None:
        """Switch to another policy, from the next plan on."""
        before, self._table = self._table, table
        self._grow(table.bands.count, reading=reading)
        for order in self.orders:
            order.apply(table, now_us)
        if table.settings != before.settings or table.bands != before.bands:
            self._apply_settings()

    def adopt(
        self,
        rows: Iterable[QueueRow],
        now_us: int,
        floors: Sequence[int],
        context: PoolContext,
        *,
        reading: bool,
    ) -> None:
        """Start from the pool's rows of `work_queue`; forget all but the policy."""
        rows = tuple(rows)
        self._grow(1 + max((row.band for row in rows), default=0), reading=reading)
        self._context = context
        self.begun_us = now_us
        by_band = self.by_band(rows)
        for band, order in enumerate(self.orders):
            floor = floors[band] if band < len(floors) else 0
            order.adopt(self._table, context, by_band[band], now_us, floor)
        self._apply_settings()

    def by_band(self, rows: Iterable[QueueRow]) -> list[list[QueueRow]]:
        """Return the pool's rows by their bands; those of unknown bands are left out."""
        found: list[list[QueueRow]] = [[] for _ in self.orders]
        for row in rows:
            if row.band < len(found):
                found[row.band].append(row)
        return found

    def _grow(self, bands: int, *, reading: bool) -> None:
        for band in range(len(self.orders), bands):
            self.orders.append(FairOrder(self._table, self._context, band=band))
            if reading:
                self.orders[band].begin_reconcile()

    def _apply_settings(self) -> None:
        """Apply the settings that concern all bands."""
        bands = self._table.bands
        waits_us = (*bands.waits_us, *(0 for _ in range(bands.count, len(self.orders))))
        self._aging = Aging(waits_us, self.begun_us)
        for lane in apply_policy.classify_lanes(self.ledgers):
            self.orders[lane.queue.band].admit(lane)
        for order in self.orders:
            order.set_aging(self._aging if len(self.orders) > 1 else None)


def _arrivals(
    orders: Sequence[FairOrder],
    aging: Aging,
    changed: Iterable[LaneHeads],
    freed: Iterable[Member],
    paused: Paused,
) -> list[list[Branch]]:
    """Admit lanes in their bands; returns the branches that begin to wait."""
    lanes: list[list[LaneHeads]] = [[] for _ in orders]
    members: list[list[Member]] = [[] for _ in orders]
    for heads in changed:
        lanes[heads.band].append(heads)
    for member in freed:
        band = member.queue.band if isinstance(member, Lane) else member.band
        members[band].append(member)
    begun = [
        order.admit_changed(lanes[band], paused)
        + order.unblock(members[band])
        + order.readmit()
        for band, order in enumerate(orders)
    ]
    for each in lanes:
        for heads in each:
            aging.note(heads)
            for order in orders[: heads.band]:
                order.update_aged(heads)
    return begun


def _pick_bands(
    orders: Sequence[FairOrder],
    aging: Aging,
    room: PlanRoom,
    heads: Heads,
    begun: Sequence[list[Branch]],
) -> tuple[list[Picker], int]:
    """Pick from the top band down; each has the depth that the bands above leave.

    Also returns how many go past the depth.
    """
    now_us, slots, depth = room
    for lane, band in aging.take(now_us):
        begun[band].extend(orders[band].admit_aged((lane,)))
    found: list[Picker] = []
    overflows = above = 0
    waits = False
    for order, queues in zip(orders, begun, strict=True):
        # While jobs of bands above are queued, or wait for room, no job overtakes.
        past = 0 if waits or above >= max(depth, 1) else slots
        picks, overflow = order.pick(depth - above, past, heads, queues)
        while _drop_doubtful(orders, order, picks):
            # Others get their turn at once, or a slot would stay free while they wait.
            more, further = order.pick(depth - above, past, heads, queues)
            picks.jobs += more.jobs
            picks.doubtful += more.doubtful
            picks.metered |= more.metered
            picks.is_deep_enough = more.is_deep_enough
            overflow += further
        found.append(picks)
        overflows += overflow
        above = max(above + order.unclaimed, depth if picks.is_deep_enough else 0)
        waits = waits or order.waits_for_room
    return found, overflows


def _drop_doubtful(orders: Sequence[FairOrder], order: FairOrder, picks: Picker) -> bool:
    """Leave out what is in flight in another band, where it went because it had aged.

    Returns whether anything was: a full read may find a head in flight, and a band knows only
    its own rows.
    """
    others = [each for each in orders if each is not order]
    twice = {job[0] for job in picks.jobs if any(job[0] in x.in_flight for x in others)}
    if twice:
        order.refused(twice)
        picks.jobs = [job for job in picks.jobs if job[0] not in twice]
        picks.doubtful += twice
    return bool(twice)


def _planned(
    orders: Sequence[FairOrder], found: Sequence[Picker], overflow: int, pool: str | None
) -> Plan:
    """Return what the bands of a pool dispatch as one plan."""
    parts = [
        BandPlan(band, _written(picks.jobs, order.ledger.tag_shift.by), order.floor)
        for band, (order, picks) in enumerate(zip(orders, found, strict=True))
    ]
    rows = parts[0].rows
    if len(parts) > 1:
        rows = tuple(sorted((row for part in parts for row in part.rows), key=_id_of))
    doubtful = tuple([job_id for picks in found for job_id in picks.doubtful])
    used = {each[:3]: each for picks in found for each in picks.used()}
    bands = tuple(part for part in parts if part.rows) if len(parts) > 1 else ()
    return Plan(
        rows, parts[0].floor, doubtful, overflow, tuple(used.values()), bands, pool or ""
    )


def _written(jobs: Sequence[PlannedRow], by: int) -> tuple[PlannedRow, ...]:
    """Return the rows in the order of their ids, with their tags as they are written."""
    if by:
        jobs = [(job_id, tag + by, cost_us, seen_us) for job_id, tag, cost_us, seen_us in jobs]
    return tuple(sorted(jobs, key=_id_of))


_id_of = itemgetter(0)
