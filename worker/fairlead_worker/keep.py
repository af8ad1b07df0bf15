"""Keep the deadlines of attempts that wait for a process of their own ahead of the clock.

An attempt's deadline is written when it is claimed. One that must run alone may wait for longer
than that, and would be taken away as overdue although its worker lives and will run it.
"""

from collections.abc import Callable
from functools import partial

from fairlead_worker import parent_store
from fairlead_worker.lease import LeaseThread, Reply
from fairlead_worker.orders import Orders
from fairlead_worker.parent_store import Key
from fairlead_worker.session import Session


class Keep:
    """Asks the database as often as the lease is renewed, and only while something waits.

    Args:
        orders: the worker's settings.
        lease: runs the errands.
        waiting: the attempts that have not begun.
    """

    def __init__(
        self, orders: Orders, lease: LeaseThread, waiting: Callable[[], tuple[Key, ...]]
    ) -> None:
        self._orders, self._lease, self._waiting = orders, lease, waiting
        self._asked = False
        self._at = 0.0

    def advance(self, now: float) -> None:
        """Move the deadlines of what waits, when it is time."""
        waiting = self._waiting() if now >= self._at and not self._asked else ()
        if waiting:
            self._asked = True
            self._at = now + self._orders.worker_renew_seconds
            self._lease.ask(partial(self._keep, waiting))

    def _keep(self, waiting: tuple[Key, ...], session: Session) -> Reply:
        parent_store.keep(session, waiting, self._orders.worker_lease_seconds)
        return self._kept

    def _kept(self) -> None:
        self._asked = False
