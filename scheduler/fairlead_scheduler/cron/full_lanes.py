"""Which lanes were over their backlog limit when a schedule of theirs was to fire.

One schedule of such a lane tries again every few seconds, and the others follow: a refusal
costs a statement and an error in the database's log, and a tenant may have ten thousand.
"""

RETRY_US = 5_000_000
"""How long until a lane that was over its backlog limit is tried again."""

Lane = tuple[str, str]
"""A schedule's tenant and queue."""


class FullLanes:
    """Says when the schedules of full lanes are due again, in the order in which they came.

    Times are microseconds of the database's clock.
    """

    def __init__(self) -> None:
        self._until_us: dict[Lane, int] = {}
        self._places: dict[Lane, int] = {}

    def refused(self, lane: Lane, now_us: int) -> None:
        """Record that the lane has just refused a job."""
        self._until_us[lane] = now_us + RETRY_US
        self._places[lane] = 0

    def holds(self, lane: Lane, now_us: int) -> bool:
        """Return whether the lane is not to be tried yet."""
        return now_us < self._until_us.get(lane, 0)

    def next_us(self, lane: Lane) -> int:
        """Return when one more schedule of a refused lane is due: behind those before it."""
        self._places[lane] += 1
        return self._until_us[lane] + self._places[lane]

    def forget(self, now_us: int) -> None:
        """Forget lanes that may be tried again."""
        for lane in [lane for lane, until in self._until_us.items() if until <= now_us]:
            del self._until_us[lane], self._places[lane]
