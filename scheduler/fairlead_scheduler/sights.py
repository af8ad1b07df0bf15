"""What the leader sees of one pool from look to look, beside the books of its order."""

from collections.abc import Sequence
from dataclasses import replace

from fairlead_scheduler.capacity import Capacity
from fairlead_scheduler.crowding import Crowding
from fairlead_scheduler.depth import Depth
from fairlead_scheduler.estimate import Moments
from fairlead_scheduler.explain import Scene
from fairlead_scheduler.pool import PoolOrder
from fairlead_scheduler.pools import Size
from fairlead_scheduler.throughput import Ended, Throughput
from fairlead_scheduler.values import DepthSettings, PlannedRow


class Sight:
    """One pool's depth, what holds its jobs up, and how well its slots are used.

    Args:
        order: The pool's.
        ceiling: Of the unclaimed rows.
    """

    def __init__(self, order: PoolOrder, *, ceiling: int) -> None:
        self.order = order
        self.pool = order.pool or ""
        self.claims = 0
        """How many rows were claimed between the last two looks."""
        self.moments: Moments | None = None
        """Of its run times, for who asks for them; None: nobody does."""
        self._depth = Depth(DepthSettings(ceiling=ceiling))
        self._crowding = Crowding()
        self._throughput = Throughput()
        self._free = 0
        """Slots that held nothing when the last plan began."""
        self._busy = False
        """Whether the last plan left no slot free."""

    def looked(self, ended: Sequence[Ended], capacity: Capacity, now_us: int) -> None:
        """Take in what has ended since the last look."""
        if self.moments is not None:
            for receipt in ended:
                self.moments.add(receipt.run_us)
        self._throughput.looked(
            ended,
            now_us,
            in_flight=self.order.in_flight,
            busy_slots=capacity.slots(self.pool) if self._busy else 0,
            mean_us=self.order.mean_us,
        )

    def size(self, capacity: Capacity, now_us: int, *, pending: bool, round_us: int) -> Size:
        """Return what the next plan has room for; call it once for each plan."""
        order, free, slots = self.order, capacity.free(self.pool), capacity.slots(self.pool)
        self._free = free
        self._depth.observed(
            now_us, claims=self.claims, unclaimed=order.unclaimed, pending=pending
        )
        depth = self._depth.target(
            free_slots=free,
            slots=slots,
            mean_us=order.mean_us,
            round_us=round_us,
            ceiling=order.table.depth_ceiling,
        )
        return Size(slots, depth)

    def may_idle(self, capacity: Capacity) -> bool:
        """Whether endings before the next look may leave slots for which no row waits."""
        return self.order.unclaimed <= capacity.slots(self.pool)

    def dispatched(self, jobs: Sequence[PlannedRow], now_us: int) -> None:
        """Note how it is after a plan."""
        order = self.order
        self._busy = self._free <= order.unclaimed
        self._crowding.note(order.ledgers, now_us, busy=self._busy)
        self._throughput.planned(jobs, now_us)

    def seen(self, scene: Scene, band: int, now_us: int) -> Scene:
        """Return a scene of a lane of this band with what is seen of the pool."""
        return replace(
            scene,
            crowded_us=self._crowding.since_us(band, scene.crowd, now_us),
            used=self._throughput.used,
            gap_us=self._throughput.gap_us,
        )
