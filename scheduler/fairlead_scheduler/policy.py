"""The fair order: which pending jobs enter `work_queue` next, and with which order tags.

Two-level start-time fair queueing (Goyal, Vin and Cheng, 1996), charged in slot-microseconds as the
virtual token counter does (Sheng and others, 2024), with up to D jobs outstanding as SFQ(D) (Jin,
Chase and Kaur, 2004).
"""

from collections.abc import Collection, Iterable, Sequence

from fairlead_scheduler.lanes import Heads
from fairlead_scheduler.values import FairSettings, Paused, Plan, QueueRow


class FairOrder:
    """The order of one (pool, band): between queues, and inside each queue between tenants.

    Every method is an event and carries its time. Unknown ids are ignored, so a repeated event
    changes nothing.
    """

    def __init__(self, pool: str, band: int, settings: FairSettings | None = None) -> None:
        raise NotImplementedError

    @property
    def unclaimed(self) -> int:
        """How many rows of `work_queue` wait for a worker, by the books."""
        raise NotImplementedError

    @property
    def in_flight(self) -> Collection[int]:
        """The ids that are in `work_queue`, by the books: a live view."""
        raise NotImplementedError

    @property
    def mean_us(self) -> int:
        """The recent mean run time of a job, over all queues; the first prior at the start."""
        raise NotImplementedError

    @property
    def floor(self) -> int:
        """The smallest unclaimed tag, as far as the books know."""
        raise NotImplementedError

    @property
    def virtual_time(self) -> int:
        """V between the queues."""
        raise NotImplementedError

    def unclaimed_of(self, paused: Paused) -> tuple[int, ...]:
        """Return the ids of unclaimed rows that these pauses name, ascending, to be recalled."""
        raise NotImplementedError

    def plan(
        self, now_us: int, slots: int, depth: int, heads: Heads, paused: Paused = frozenset()
    ) -> Plan:
        """Pick what to dispatch, and count it as dispatched.

        Args:
            now_us: The database's time.
            slots: All slots of live workers.
            depth: How many unclaimed rows there should be. Only rows that overtake queued ones go
                past it, up to `slots + depth`.
            heads: What is pending; the picked are taken out of it.
            paused: What must not be dispatched.

        Tell `refused` about each id that the dispatch did not insert, all of them if it failed.
        """
        raise NotImplementedError

    def refused(self, ids: Iterable[int]) -> None:
        """Undo the dispatch of ids that the database did not take; ask it about them again."""
        raise NotImplementedError

    def claimed(self, ids: Iterable[int], at_us: int) -> None:
        """Workers took these rows."""
        raise NotImplementedError

    def ended(self, ids: Sequence[int], run_us: Sequence[int]) -> None:
        """These left `work_queue` after so long a run; 0 says that they had not started."""
        raise NotImplementedError

    def returned(self, ids: Iterable[int], at_us: int) -> None:
        """These are unclaimed again; what they have run stays charged, and they are charged anew."""
        raise NotImplementedError

    def recalled(self, ids: Iterable[int], heads: Heads) -> tuple[int, ...]:
        """These left `work_queue` unclaimed: refund them and put them back among the heads.

        Returns the ids whose place is not known (adopted at the take-over): read them from `jobs`
        and hand them to `heads.missed`.
        """
        raise NotImplementedError

    def refresh(self, now_us: int) -> None:
        """Charge running jobs for what they have run beyond their charge; call it every 250 ms."""
        raise NotImplementedError

    def adopt(self, rows: Iterable[QueueRow], now_us: int, floor: int = 0) -> None:
        """Start from a full read of `work_queue` and the floor in force; forgets all else."""
        raise NotImplementedError

    def reading(self) -> None:
        """Say that a full read of `work_queue` for `reconcile` is about to be sent."""
        raise NotImplementedError

    def reconcile(self, rows: Iterable[QueueRow], now_us: int) -> int:
        """Correct the books by a full read; returns how many ids were wrong.

        Ids that any event has touched since `reading` are left alone.
        """
        raise NotImplementedError
