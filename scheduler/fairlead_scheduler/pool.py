"""The order of a pool over all its bands: strict between them, fair inside each.

Each band has books of its own. What belongs to a queue or a tenant in all bands together, its
limits, rates and pauses, the bands share; and so do they the depth, which counts from the top:
a band never waits for rows of those below it.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace

from fairlead_scheduler import amendment
from fairlead_scheduler.aging import Aging
from fairlead_scheduler.bounds import named
from fairlead_scheduler.crowding import waits
from fairlead_scheduler.explain import Scene
from fairlead_scheduler.flights import InFlight
from fairlead_scheduler.holds import Member
from fairlead_scheduler.keys import Trait
from fairlead_scheduler.lanes import Heads
from fairlead_scheduler.ledger import Ledger
from fairlead_scheduler.looks import Look, looked
from fairlead_scheduler.parts import Room, arrivals, pick_bands
from fairlead_scheduler.plans import planned
from fairlead_scheduler.policy import FairOrder
from fairlead_scheduler.rates import Used
from fairlead_scheduler.shared import Judge, Shared
from fairlead_scheduler.streams import LaneHeads
from fairlead_scheduler.terms import Table
from fairlead_scheduler.values import NOBODY, Paused, Plan, QueueRow


class PoolOrder:
    """The fair orders of a pool's bands, the one that goes first in front.

    Args:
        pool: Its name; None: of the queues that no pool serves, which are held.
        table: The terms in force.
        shared: What it has in common with other pools; None: there are none.
        begun_us: Since when jobs wait that nobody saw arriving, until it adopts any.

    Every method is an event and carries its time. Unknown ids are ignored, so a repeated event
    changes nothing.
    """

    def __init__(
        self,
        pool: str | None,
        table: Table | None = None,
        *,
        shared: Shared | None = None,
        begun_us: int = 0,
    ) -> None:
        self.pool = pool
        self._table = table or Table()
        self._shared = shared or Shared(name=pool, only=pool or "")
        self._orders: list[FairOrder] = []
        self.in_flight: Collection[int] = InFlight(self._orders)
        self._begun_us = begun_us
        self._reads = False
        """Whether a full read is under way."""
        self._asked: tuple[tuple[Trait, ...], ...] = ()
        self._sorted: Table | None = None
        """The table by which the heads were sorted into bands."""
        self._grow(self._table.bands.count)
        self._obey()

    @property
    def table(self) -> Table:
        """The terms in force."""
        return self._table

    @property
    def begun_us(self) -> int:
        """Since when jobs wait that nobody saw arriving."""
        return self._begun_us

    @property
    def bands(self) -> int:
        """How many bands there are, or were in this term."""
        return len(self._orders)

    @property
    def unclaimed(self) -> int:
        """How many rows of `work_queue` wait for a worker, by the books."""
        return sum([order.unclaimed for order in self._orders])

    @property
    def mean_us(self) -> int:
        """The recent mean run time of a job, over all queues; the first prior at the start."""
        return self._orders[0].mean_us

    @property
    def floor(self) -> int:
        """The smallest unclaimed tag of the first band, as far as the books know."""
        return self._orders[0].floor

    @property
    def floors(self) -> tuple[int, ...]:
        """The smallest unclaimed tag of each band."""
        return tuple(order.floor for order in self._orders)

    @property
    def virtual_time(self) -> int:
        """V between the queues of the first band, as of the last plan."""
        return self._orders[0].virtual_time

    @property
    def release_us(self) -> int | None:
        """From when on a rate lets something go that waits; None when none holds anything."""
        return self._shared.holds.next_us

    @property
    def limited(self) -> bool:
        """Whether a limit or a reserve holds anybody back."""
        return self._shared.holds.limited

    @property
    def over(self) -> bool:
        """Whether more rows may wait than limits, bands or rules allow."""
        return self._table.rules.judged > 0 or any(order.over for order in self._orders)

    def surplus(self) -> tuple[int, ...]:
        """Return the unclaimed rows for which a new policy leaves no room: recall them."""
        return amendment.surplus(self.ledgers) if self.over else ()

    def overdue(self, now_us: int) -> tuple[int, ...]:
        """Return the unclaimed rows that have waited too long for their bands: recall them.

        Those are rows for which others of the bands above are claimed. They are heads then, and
        aged ones.
        """
        found: list[int] = []
        above = 0
        for order in self._orders:
            if above and order.unclaimed:
                found += order.overdue(self._aging, now_us)
            above += order.unclaimed
        return tuple(sorted(found))

    def unclaimed_of(self, paused: Paused) -> tuple[int, ...]:
        """Return the unclaimed rows that these pauses name, ascending: recall them."""
        return tuple(sorted(i for order in self._orders for i in order.unclaimed_of(paused)))

    def held(self) -> dict[str, int]:
        """Return how many lanes that have work are held back, by reason."""
        counts = self._shared.holds.lanes
        for reason, count in self.held_in_queues().items():
            counts[reason] += count
        return named(counts)

    def held_in_queues(self) -> Counter[int]:
        """Return how many lanes wait because their queues are held back, by reason."""
        return sum([order.held_in_queues() for order in self._orders], Counter[int]())

    @property
    def waits(self) -> bool:
        """Whether somebody waits for service, or rows for a worker."""
        return any(map(waits, self.ledgers))

    def scene(
        self,
        queue: str,
        tenant: str,
        *,
        rank: int = 0,
        job_id: int = 0,
        now_us: int,
        slots: int,
        free: int,
    ) -> Scene | None:
        """Return where a lane stands, to be explained; None when it is not known."""
        band = self._table.band_of(queue, rank)
        orders = self._orders[: band + 1]
        scene = orders[band].scene(
            queue, tenant, job_id=job_id, now_us=now_us, slots=slots, free=free
        )
        if scene is None or not band:
            return scene
        return replace(
            scene,
            unclaimed=sum(order.unclaimed for order in orders),
            band=self._table.bands.names[band],
            above=any(waits(order.ledger) for order in orders[:band]),
        )

    def look(self, now_us: int, *, slots: int, free: int) -> Look:
        """Look at what was served, for a report: at most a few milliseconds' work."""
        return looked(self.ledgers, now_us, slots=slots, free=free)

    @property
    def behind(self) -> bool:
        """Whether the next plan is to let lanes wait for service for which one had no time."""
        return any(order.behind for order in self._orders)

    @property
    def awaits_values(self) -> bool:
        """Whether the last plan left something to be dispatched once its traits are read."""
        return any(order.awaits_values for order in self._orders)

    @property
    def awaits_verdicts(self) -> bool:
        """Whether the last plan left something for which there was no time to look at rules."""
        return any(order.ledger.keyed.unjudged for order in self._orders)

    def judge_by(self, judge: Judge) -> None:
        """Have the rules for single jobs looked at by this."""
        self._shared.judge = judge

    def traits(self) -> tuple[Trait, ...]:
        """Return what to read of jobs for keys and rules; call it once before each `learn`."""
        self._asked = tuple(order.traits() for order in self._orders)
        return tuple(trait for asked in self._asked for trait in asked)

    def learn(self, texts: Sequence[str | None]) -> None:
        """Take the traits in the order in which they were asked for; the last may be missing.

        A job that is gone has none: it will not be dispatched.
        """
        begin = 0
        for order, asked in zip(self._orders, self._asked, strict=False):
            order.learn(texts[begin : begin + len(asked)])
            begin += len(asked)
        self._asked = ()

    def plan(
        self, now_us: int, slots: int, depth: int, heads: Heads, paused: Paused = NOBODY
    ) -> Plan:
        """Decide what to dispatch now, band by band, and count it as dispatched.

        Args:
            now_us: The database's time.
            slots: All slots of live workers.
            depth: How many unclaimed rows there should be. Only rows that overtake queued ones,
                and those of reserves, go past it, up to `slots + depth`. Rows of lower bands
                do not count.
            heads: What is pending; the picked are taken out of it.
            paused: What must not be dispatched.

        Tell `refused` about each id that the dispatch did not insert, all of them if it failed.
        """
        if self._sorted is not self._table:
            self._sorted = self._table
            heads.sort(self._table.band_of if self._table.bands.count > 1 else None)
        self.begin(now_us, slots)
        freed = self._shared.holds.take_freed(now_us)
        return self.fill(Room(now_us, slots, depth), heads, heads.take_changed(), freed, paused)

    def begin(self, now_us: int, slots: int) -> None:
        """Begin a plan: charge what runs, and bring every V up to date."""
        for order in self._orders:
            order.begin(now_us, slots)

    def fill(
        self,
        room: Room,
        heads: Heads,
        changed: Sequence[LaneHeads],
        freed: Sequence[Member],
        paused: Paused = NOBODY,
    ) -> Plan:
        """Go on with a plan that has begun; see `plan`.

        Args:
            room: What there is room for.
            heads: What is pending, of all pools.
            changed: The pool's lanes that have changed.
            freed: Whom of the pool nothing may hold back any longer.
            paused: What must not be dispatched.
        """
        if len(self._orders) == 1:
            order = self._orders[0]
            begun = order.arrive(changed, paused) + order.go_on(freed) + order.look_again()
            picks, overflow = order.pick(room.depth, room.slots, heads, begun)
            return planned((picks,), (order.floor,), overflow, self.pool)
        waiting = arrivals(self._orders, self._aging, changed, freed, paused)
        found, overflow = pick_bands(self._orders, self._aging, room, heads, waiting)
        return planned(found, self.floors, overflow, self.pool)

    def refused(self, ids: Iterable[int]) -> None:
        """Undo the dispatch of ids that the database did not take; ask it about them again.

        Say so before the next plan: rates are given back what these took.
        """
        ids = tuple(ids)
        for order in self._orders:
            order.refused(ids)

    def claimed(self, ids: Iterable[int], at_us: int) -> None:
        """Note that workers took these rows."""
        ids = tuple(ids)
        for order in self._orders:
            order.claimed(ids, at_us)

    def ended(self, ids: Sequence[int], run_us: Sequence[int]) -> None:
        """Note that these left `work_queue` after so long a run; 0: they had not started."""
        for order in self._orders:
            order.ended(ids, run_us)

    def returned(self, ids: Iterable[int], at_us: int) -> None:
        """Note that these wait again; what they ran stays charged."""
        ids = tuple(ids)
        for order in self._orders:
            order.returned(ids, at_us)

    def recalled(self, ids: Iterable[int], heads: Heads) -> tuple[int, ...]:
        """Note that these left `work_queue` unclaimed: they are refunded, and heads again.

        Returns the ids whose place is not known (adopted at the take-over): read them from
        `jobs` and hand them to `heads.missed`.
        """
        unknown = tuple(ids)
        for order in self._orders:
            unknown = order.recalled(unknown, heads)
        return unknown

    def apply(self, table: Table, now_us: int) -> None:
        """Serve everybody on the terms of another table, from the next plan on."""
        before, self._table = self._table, table
        self._grow(table.bands.count)
        for order in self._orders:
            order.apply(table, now_us)
        if table.settings != before.settings or table.bands != before.bands:
            self._obey()

    def adopt(
        self,
        rows: Iterable[QueueRow],
        now_us: int,
        floors: Sequence[int] = (),
        used: Iterable[Used] = (),
        shared: Shared | None = None,
    ) -> None:
        """Start from a full read of `work_queue`, the floors in force, and what rates used.

        All else but the table is forgotten. A new `Heads` goes with it. Where it has anything
        in common with other pools, what rates used is there.
        """
        rows = tuple(rows)
        self._grow(1 + max((row.band for row in rows), default=0))
        self._shared = shared or Shared(used, name=self.pool, only=self.pool or "")
        self._begun_us = now_us
        self._sorted = None
        by_band = self._by_band(rows)
        for band, order in enumerate(self._orders):
            floor = floors[band] if band < len(floors) else 0
            order.adopt(self._table, self._shared, by_band[band], now_us, floor)
        self._obey()

    def reading(self) -> None:
        """Say that a full read of `work_queue` for `reconcile` is about to be sent."""
        self._reads = True
        for order in self._orders:
            order.reading()

    def reconcile(self, rows: Iterable[QueueRow], now_us: int, heads: Heads) -> int:
        """Correct the books by a full read; returns how many ids were wrong.

        Ids that any event has touched since `reading` are left alone, so tell the endings
        that were committed before the read ended first: an ending that comes later finds its
        job gone, and its run time is not learnt.
        """
        self._reads = False
        by_band = self._by_band(rows)
        return sum(
            order.reconcile(mine, now_us, heads)
            for order, mine in zip(self._orders, by_band, strict=True)
        )

    def _by_band(self, rows: Iterable[QueueRow]) -> list[list[QueueRow]]:
        found: list[list[QueueRow]] = [[] for _ in self._orders]
        for row in rows:
            if row.band < len(found):
                found[row.band].append(row)
        return found

    def _grow(self, bands: int) -> None:
        for band in range(len(self._orders), bands):
            self._orders.append(FairOrder(self._table, self._shared, band=band))
            if self._reads:
                self._orders[band].reading()

    def _obey(self) -> None:
        """Heed the settings that are about all bands."""
        bands = self._table.bands
        waits_us = (*bands.waits_us, *(0 for _ in range(bands.count, len(self._orders))))
        self._aging = Aging(waits_us, self._begun_us)
        for lane in amendment.judge_lengths(self.ledgers):
            self._orders[lane.queue.band].admit(lane)
        for order in self._orders:
            order.watch_ages(self._aging if len(self._orders) > 1 else None)

    @property
    def ledgers(self) -> list[Ledger]:
        """The books of the bands, until the next `adopt`."""
        return [order.ledger for order in self._orders]
