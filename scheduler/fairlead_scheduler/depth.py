"""How many unclaimed rows `work_queue` should hold.

Too few and workers find nothing between two ticks; too many and a job waits behind more rows than it
must. The measure is what workers take within two ticks and a round trip, on top of the slots that
are free now.
"""

from fairlead_scheduler.values import DepthSettings


class Depth:
    """The depth that suits how fast workers claim just now."""

    def __init__(self, settings: DepthSettings | None = None) -> None:
        raise NotImplementedError

    def observed(self, now_us: int, *, claims: int, unclaimed: int, pending: bool) -> None:
        """Take one tick: claims since the last one, rows left unclaimed, and whether jobs wait.

        Args:
            now_us: The database's time.
            claims: Rows claimed since the last call.
            unclaimed: Rows still unclaimed, before this tick's plan.
            pending: Whether there is work that could have been dispatched.
        """
        raise NotImplementedError

    def target(self, *, free_slots: int, slots: int, mean_us: int, round_us: int) -> int:
        """Return the depth.

        Args:
            free_slots: Slots of live workers that run nothing.
            slots: All slots of live workers.
            mean_us: The mean run time of a job.
            round_us: A tick and a round trip.
        """
        raise NotImplementedError
