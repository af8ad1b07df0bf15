"""The orders of all pools: which jobs go to which workers.

Each pool has an order of its own: the slots of its workers are shared among its queues, and
nobody waits for those of another. What belongs to a queue moves with it when a policy gives it
to another pool: its limits count what is still in flight where it was, its rates what was
dispatched there, and rows there that no worker has taken are recalled.

A pool stays until the end of the term, for what it has in flight may outlast the policy.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from fairlead_scheduler import amendment
from fairlead_scheduler.books import Lane
from fairlead_scheduler.bounds import named
from fairlead_scheduler.explain import Scene
from fairlead_scheduler.flights import InFlight
from fairlead_scheduler.holds import Member
from fairlead_scheduler.keys import Trait
from fairlead_scheduler.lanes import Heads
from fairlead_scheduler.ledger import Ledger
from fairlead_scheduler.parts import Room
from fairlead_scheduler.pool import PoolOrder
from fairlead_scheduler.rates import Used
from fairlead_scheduler.shared import Judge, Shared
from fairlead_scheduler.streams import PLACES, LaneHeads
from fairlead_scheduler.terms import Table
from fairlead_scheduler.values import NOBODY, Paused, Plan, QueueRow


class Size(NamedTuple):
    """What a pool has room for."""

    slots: int
    """All slots of its live workers."""
    depth: int
    """How many unclaimed rows it should have."""


_NO_ROOM = Size(0, 0)


class Pools:
    """The orders of all pools, as one.

    Args:
        only: The pool that serves all queues where the policy names none.
        table: The terms in force.

    Every method is an event and carries its time. Unknown ids are ignored, so a repeated event
    changes nothing.
    """

    def __init__(self, only: str, table: Table | None = None) -> None:
        self._only = only
        self._table = table or Table()
        self._orders: list[PoolOrder] = []
        self.served: list[PoolOrder] = []
        """The orders of pools, all but that of queues that no pool serves."""
        self._shared: list[Shared] = []
        self._places: dict[str | None, int] = {}
        self._of: dict[str, str | None] = {}
        """Which pool serves each queue that was asked for."""
        self.in_flight: Collection[int] = InFlight(self._orders)
        self._begun_us = 0
        self._reads = False
        self._sorted = False
        """Whether the heads are where the table says."""
        self._asked: tuple[tuple[Trait, ...], ...] = ()
        self._open()

    @property
    def table(self) -> Table:
        """The terms in force."""
        return self._table

    @property
    def named(self) -> tuple[str, ...]:
        """The pools that serve queues by the policy, or the one that serves all."""
        return self._table.homes.names or (self._only,)

    @property
    def ledgers(self) -> list[Ledger]:
        """The books of all bands of all pools, until the next `adopt`."""
        return [ledger for order in self._orders for ledger in order.ledgers]

    @property
    def bands(self) -> int:
        """How many bands a pool has, or had in this term."""
        return max(order.bands for order in self._orders)

    @property
    def mean_us(self) -> int:
        """The recent mean run time of a job, in the pool where it is least."""
        return min(order.mean_us for order in self._orders)

    @property
    def release_us(self) -> int | None:
        """From when on a rate lets something go that waits; None when none holds anything."""
        return self._orders[0].release_us

    @property
    def limited(self) -> bool:
        """Whether a limit or a reserve holds anybody back."""
        return self._orders[0].limited

    @property
    def over(self) -> bool:
        """Whether more rows may wait than limits, bands or pools allow."""
        return any(order.over for order in self._orders)

    def of(self, queue: str) -> str | None:
        """Return the pool that serves a queue; None: none does."""
        if queue not in self._of:
            self._of[queue] = self._table.homes.of(queue, self._only)
        return self._of[queue]

    def surplus(self) -> tuple[int, ...]:
        """Return the unclaimed rows for which a new policy leaves no room: recall them."""
        return amendment.surplus(self.ledgers) if self.over else ()

    def overdue(self, now_us: int) -> tuple[int, ...]:
        """Return the unclaimed rows that have waited too long for their bands: recall them."""
        return tuple(sorted(i for order in self._orders for i in order.overdue(now_us)))

    def unclaimed_of(self, paused: Paused) -> tuple[int, ...]:
        """Return the unclaimed rows that these pauses name, ascending: recall them."""
        return tuple(sorted(i for order in self._orders for i in order.unclaimed_of(paused)))

    def held(self) -> dict[str, int]:
        """Return how many lanes that have work are held back, by reason."""
        counts = self._shared[0].holds.lanes
        for order in self._orders:
            for reason, count in order.held_in_queues().items():
                counts[reason] += count
        return named(counts)

    def scene(
        self,
        queue: str,
        tenant: str,
        *,
        rank: int,
        job_id: int,
        now_us: int,
        slots: int,
        free: int,
    ) -> Scene | None:
        """Return where a lane stands, to be explained; None when it is not known."""
        return self._orders[self._places[self.of(queue)]].scene(
            queue, tenant, rank=rank, job_id=job_id, now_us=now_us, slots=slots, free=free
        )

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
        return any(order.awaits_verdicts for order in self._orders)

    def judge_by(self, judge: Judge) -> None:
        """Have the rules for single jobs looked at by this."""
        for shared in self._shared:
            shared.judge = judge

    def traits(self) -> tuple[Trait, ...]:
        """Return what to read of jobs for their keys; call it once before each `learn`."""
        if len(self._orders) == 1:
            return self._orders[0].traits()
        self._asked = tuple(order.traits() for order in self._orders)
        return tuple(trait for asked in self._asked for trait in asked)

    def learn(self, texts: Sequence[str | None]) -> None:
        """Take the traits, in the order in which they were asked for; see `PoolOrder`."""
        if len(self._orders) == 1:
            self._orders[0].learn(texts)
            return
        begin = 0
        for order, asked in zip(self._orders, self._asked, strict=False):
            order.learn(texts[begin : begin + len(asked)])
            begin += len(asked)
        self._asked = ()

    def plan(
        self,
        now_us: int,
        sizes: Mapping[str, Size],
        heads: Heads,
        paused: Paused = NOBODY,
    ) -> tuple[Plan, ...]:
        """Decide what to dispatch now, pool by pool, and count it as dispatched.

        Args:
            now_us: The database's time.
            sizes: What each pool has room for; see `PoolOrder.plan`.
            heads: What is pending; the picked are taken out of it.
            paused: What must not be dispatched.

        Tell `refused` about each id that the dispatch did not insert, all of them if it failed.
        """
        if len(self._orders) == 1:
            order = self._orders[0]
            size = sizes.get(order.pool or "", _NO_ROOM)
            return (order.plan(now_us, size.slots, size.depth, heads, paused),)
        if not self._sorted:
            self._sorted = True
            heads.sort(self._place)
        rooms: list[Room] = []
        for order in self._orders:
            slots, depth = sizes.get(order.pool or "", _NO_ROOM)
            order.begin(now_us, slots)
            rooms.append(Room(now_us, slots, depth))
        changed, freed = self._parted(heads, now_us)
        return tuple(
            order.fill(room, heads, changed[place], freed[place], paused)
            for place, (order, room) in enumerate(zip(self._orders, rooms, strict=True))
        )

    def _parted(
        self, heads: Heads, now_us: int
    ) -> tuple[list[list[LaneHeads]], list[list[Member]]]:
        """Return what has changed, and who may go on, by pools."""
        changed: list[list[LaneHeads]] = [[] for _ in self._orders]
        for lane in heads.take_changed():
            changed[lane.pool].append(lane)
        freed: list[list[Member]] = [[] for _ in self._orders]
        for member in self._shared[0].holds.take_freed(now_us):
            queue = member.queue if isinstance(member, Lane) else member
            freed[queue.pool].append(member)
        return changed, freed

    def refused(self, ids: Iterable[int], pool: str) -> None:
        """Undo what a pool's plan dispatched and the database did not take.

        Ask it about these again: they may be in flight in a pool where their queue was.
        """
        self._orders[self._places[pool]].refused(ids)

    def claimed(self, ids: Iterable[int], at_us: int) -> None:
        """Note that workers took these rows."""
        ids = tuple(ids)
        for order in self._orders:
            order.claimed(ids, at_us)

    def ended(self, ids: Sequence[int], run_us: Sequence[int]) -> None:
        """Note that these left `work_queue` after so long a run; 0: they had not started."""
        for order in self._orders:
            order.ended(ids, run_us)

    def parted(
        self, ids: Sequence[int], run_us: Sequence[int]
    ) -> Iterator[tuple[Sequence[int], Sequence[int]]]:
        """Yield which of these are in flight in each pool, with what they ran.

        Ask before they have `ended`. Where there is one pool, all of them are.
        """
        if len(self.served) == 1:
            yield ids, run_us
            return
        for order in self.served:
            pairs = zip(ids, run_us, strict=True)
            mine = [pair for pair in pairs if pair[0] in order.in_flight]
            yield [job_id for job_id, _ in mine], [run for _, run in mine]

    def returned(self, ids: Iterable[int], at_us: int) -> None:
        """Note that these wait again; what they ran stays charged."""
        ids = tuple(ids)
        for order in self._orders:
            order.returned(ids, at_us)

    def recalled(self, ids: Iterable[int], heads: Heads) -> tuple[int, ...]:
        """Note that these left `work_queue` unclaimed: they are refunded, and heads again.

        Returns the ids whose place is not known: see `PoolOrder.recalled`.
        """
        unknown = tuple(ids)
        for order in self._orders:
            unknown = order.recalled(unknown, heads)
        return unknown

    def apply(self, table: Table, now_us: int) -> None:
        """Serve everybody on the terms of another table, from the next plan on."""
        before, self._table = self._table, table
        bands = max(before.bands.count, table.bands.count)
        self._sorted = self._sorted and bands == 1 and before.homes == table.homes
        self._of.clear()
        for order in self._orders:
            order.apply(table, now_us)
        self._open()

    def adopt(
        self,
        rows: Iterable[QueueRow],
        now_us: int,
        floors: Mapping[str, Sequence[int]],
        used: Iterable[Used] = (),
    ) -> None:
        """Start from a full read of `work_queue`, the floors in force, and what rates used.

        All else but the table is forgotten. A new `Heads` goes with it.
        """
        rows = tuple(rows)
        self._begun_us = now_us
        for row in rows:
            self._place_of(row.pool)
        by_pool = self._by_pool(rows)
        self._shared.clear()
        for order, mine in zip(self._orders, by_pool, strict=True):
            shared = self._share(order.pool, used)
            order.adopt(mine, now_us, floors.get(order.pool or "", ()), shared=shared)
        self._sorted = False

    def reading(self) -> None:
        """Say that a full read of `work_queue` for `reconcile` is about to be sent."""
        self._reads = True
        for order in self._orders:
            order.reading()

    def reconcile(self, rows: Iterable[QueueRow], now_us: int, heads: Heads) -> int:
        """Correct the books by a full read; returns how many ids were wrong.

        See `PoolOrder.reconcile`.
        """
        self._reads = False
        by_pool = self._by_pool(rows)
        return sum(
            order.reconcile(mine, now_us, heads)
            for order, mine in zip(self._orders, by_pool, strict=True)
        )

    def _by_pool(self, rows: Iterable[QueueRow]) -> list[list[QueueRow]]:
        found: list[list[QueueRow]] = [[] for _ in self._orders]
        for row in rows:
            place = self._places.get(row.pool)
            if place is not None:
                found[place].append(row)
        return found

    def _open(self) -> None:
        """Have an order for each pool of the table, and for queues that none serves."""
        for name in self.named:
            self._place_of(name)
        if self._table.homes.names:
            self._place_of(None)

    def _place(self, queue: str, rank: int) -> int:
        """Return where jobs of a queue with this rank belong."""
        return self._places[self.of(queue)] * PLACES + self._table.band_of(queue, rank)

    def _place_of(self, pool: str | None) -> int:
        """Return the place of a pool, which is made when it is not known."""
        place = self._places.get(pool)
        if place is None:
            place = self._places[pool] = len(self._orders)
            shared = self._share(pool)
            order = PoolOrder(pool, self._table, shared=shared, begun_us=self._begun_us)
            if self._reads:
                order.reading()
            self._orders.append(order)
            if pool is not None:
                self.served.append(order)
            self._sorted = False
        return place

    def _share(self, pool: str | None, used: Iterable[Used] = ()) -> Shared:
        """Return what the next pool has in common with those before it."""
        beside = self._shared[0] if self._shared else None
        shared = Shared(used, name=pool, only=self._only, beside=beside)
        self._shared.append(shared)
        return shared
