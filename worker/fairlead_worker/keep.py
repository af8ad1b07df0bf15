"""Keep attempts that wait for a process of their own, and say that they have not begun.

An attempt's deadline is written when it is claimed. One that must run alone may wait for longer
than that, and would be taken away as overdue although its worker lives and will run it. And
should the worker be lost meanwhile, it has not died alone.
"""

from collections.abc import Callable
from functools import partial

from fairlead_worker import parent_store
from fairlead_worker.keys import Key
from fairlead_worker.lease import LeaseThread, Reply
from fairlead_worker.orders import Orders
from fairlead_worker.session import Session


class Keep:
    """Asks the database when something begins to wait, and as often as the lease is renewed.

    Args:
        orders: the worker's settings.
        lease: runs the errands.
        waiting: the attempts that wait.
    """

    def __init__(
        self, orders: Orders, lease: LeaseThread, waiting: Callable[[], tuple[Key, ...]]
    ) -> None:
        self._orders, self._lease, self._waiting = orders, lease, waiting
        self._kept: frozenset[Key] = frozenset()
        self._at = 0.0
        self.under_way: frozenset[Key] = frozenset()
        """What must not begin now, or it would count as waiting when it has begun."""

    def advance(self, now: float) -> None:
        """Keep what waits, when it is time."""
        waiting = frozenset(self._waiting()) if not self.under_way else frozenset[Key]()
        if waiting and (now >= self._at or not waiting <= self._kept):
            self._kept = self.under_way = waiting
            self._at = now + self._orders.worker_renew_seconds
            self._lease.ask(partial(self._keep, waiting))

    def _keep(self, waiting: frozenset[Key], session: Session) -> Reply:
        parent_store.keep(session, waiting, self._orders.worker_lease_seconds)
        return self._is_kept

    def _is_kept(self) -> None:
        self.under_way = frozenset()
