"""How many rows wait for workers beside the free slots: the product's measure, or a number."""

from fairlead_scheduler.depth import Depth
from fairlead_scheduler.estimate import Mean
from fairlead_scheduler.values import FairSettings


class Prefetch:
    """The depth of the work queue; `fixed` rows beside the free slots, or the product's own.

    Args:
        slots: All slots.
        fixed: A number, or None for the product's measure.
        round_us: A tick and a round trip.
    """

    def __init__(self, *, slots: int, fixed: int | None, round_us: int) -> None:
        self._slots = slots
        self._fixed = fixed
        self._round_us = max(1, round_us)
        self._depth = Depth()
        self._mean = Mean()
        self._settings = FairSettings()

    def room(
        self,
        now_us: int,
        *,
        claims: int,
        runs_us: list[int],
        unclaimed: int,
        free: int,
        waiting: int,
        ceiling: int | None = None,
    ) -> int:
        """Return how many rows to add at a look; call it once for each.

        Args:
            now_us: The time of the look.
            claims: Rows claimed since the last one.
            runs_us: How long the jobs ran that ended since the last one.
            unclaimed: Rows that wait for a worker.
            free: Slots that run nothing.
            waiting: Jobs that could be handed out.
            ceiling: Of the rows that wait, as a policy says; it changes no fixed number.
        """
        if self._fixed is not None:
            return free + self._fixed - unclaimed
        self._mean.add(sum(runs_us), len(runs_us), self._settings.window)
        self._depth.observed(now_us, claims=claims, unclaimed=unclaimed, pending=waiting > 0)
        mean_us = self._mean.value_us(self._settings.prior_us)
        depth = self._depth.target(
            free_slots=free,
            slots=self._slots,
            mean_us=mean_us,
            round_us=self._round_us,
            ceiling=ceiling,
        )
        return depth - unclaimed
