"""How many unclaimed rows `work_queue` should hold.

Too few, and workers find nothing between two ticks; too many, and a job waits behind more rows
than it must. The measure is what workers claim within two ticks and a round trip, in addition
to the slots that are free now. It goes by the mean run time; of rows that take longer the order
queues fewer (`ordering/slot_entry.py`).
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class DepthSettings:
    """How many unclaimed rows `work_queue` may hold."""

    lowest: int = 8
    ceiling: int = 2000
    memory_us: int = 500_000
    """Time constant of the rate of claims, roughly."""


class Depth:
    """The depth that suits how fast workers claim now."""

    def __init__(self, settings: DepthSettings | None = None) -> None:
        self._settings = settings or DepthSettings()
        self._observed_us = 0
        self._claims_per_us = 0.0
        self._spare = 0.0
        """Rows in addition to those for free slots."""
        self._ran_dry = False

    def observe(self, now_us: int, *, claims: int, unclaimed: int, pending: bool) -> None:
        """Take one tick: claims since the last one, rows left unclaimed, and whether jobs wait.

        Args:
            now_us: The database's time.
            claims: Rows claimed since the last call.
            unclaimed: Rows still unclaimed, before this tick's plan.
            pending: Whether there is work that could have been dispatched.
        """
        elapsed_us = now_us - self._observed_us
        self._ran_dry = claims > 0 and unclaimed == 0 and pending
        if self._observed_us and elapsed_us > 0:
            weight = elapsed_us / (elapsed_us + self._settings.memory_us)
            self._claims_per_us += (claims / elapsed_us - self._claims_per_us) * weight
        self._observed_us = now_us

    def next_target(
        self,
        *,
        free_slots: int,
        slots: int,
        mean_us: int,
        round_us: int,
        ceiling: int | None = None,
    ) -> int:
        """Return the depth; call it once for each `observe`.

        It doubles when workers found nothing though there was work, and shrinks towards its
        measure when they did not, by half within a second: what ran dry once does so again, and
        rows that wait cost quiet tenants nothing. It is never more than workers could use up in
        four ticks, nor than the ceiling.

        Args:
            free_slots: Slots of live workers that run nothing.
            slots: All slots of live workers.
            mean_us: The mean run time of a job.
            round_us: A tick and a round trip.
            ceiling: In place of that of the settings.
        """
        settings = self._settings
        ceiling = ceiling or settings.ceiling
        measure = max(2 * self._claims_per_us * round_us, settings.lowest)
        if self._ran_dry:
            self._spare = max(2 * self._spare, measure)
            self._ran_dry = False
        else:
            self._spare = max(self._spare - max(1.0, self._spare / 128), measure)
        useful = max(4 * slots * round_us / max(1, mean_us), settings.lowest)
        self._spare = min(self._spare, useful, ceiling)
        return min(free_slots + round(self._spare), ceiling)
