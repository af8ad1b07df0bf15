"""Get on the list of workers, and off it again.

A row is left by marking it dead, so that nothing waits for its lease, and handing back what it
held. That happens at a stop, after a lost lease, and to a predecessor: a name or a pod that was
given to us can have no other living holder.
"""

from collections import Counter
from collections.abc import Callable, Iterable
from functools import partial
from time import monotonic

from fairlead import log
from fairlead_worker import parent_store
from fairlead_worker.lease import LeaseThread, Reply, Unusable
from fairlead_worker.orders import Orders
from fairlead_worker.parent_store import Became
from fairlead_worker.session import Session


class Enlistment:
    """The row of this worker, if it has one.

    Args:
        orders: the worker's settings.
        name: the worker's name.
        lease: runs the errands.
        note: told what became of a predecessor's attempts.
    """

    def __init__(
        self,
        orders: Orders,
        name: str,
        lease: LeaseThread,
        note: Callable[[Iterable[Became]], None],
    ) -> None:
        self._orders = orders
        self._name = name
        self._lease = lease
        self._note = note
        self._former: tuple[int, ...] | None = None  # None: look for predecessors
        self._asked = self._preparing = False
        self._registered: int | None = None  # known here before the parent's loop knows it
        self._log = log.get("worker.enlistment").bind(name=name)
        self.worker_id: int | None = None
        self.prepared = False
        self.left = False

    def prepare(self) -> None:
        """Have whatever a former worker held run elsewhere, as soon as the database answers.

        It need not wait until this one can work. A repeat does nothing.
        """
        if not self.prepares:
            self._preparing = True
            self._lease.ask(self._prepare)

    @property
    def prepares(self) -> bool:
        """Whether that was asked for, since none of the children of a former row lives."""
        return self._preparing or self.prepared

    def enlist(self) -> None:
        """Get a row and a lease, after `prepare`. A repeat does nothing."""
        self.prepare()
        if not self._asked:
            self._asked = True
            self._lease.ask(self._enlist)

    def lost(self) -> None:
        """Take note that the row is ours no more; `enlist` gets a new one."""
        if self.worker_id is not None:
            self._former = (*(self._former or ()), self.worker_id)
        self.worker_id = None
        self.prepared = False
        self._lease.drop()

    def leave(self) -> None:
        """Give up the row and what it still holds; `left` says when that is done."""
        gone = isinstance(self._lease.standing, Unusable)
        if gone or (self._registered is None and not self._lease.connected):
            self.left = True
        else:
            self._lease.ask(self._leave)

    # In the lease's thread.

    def _prepare(self, session: Session) -> Reply:
        former = self._former
        if former is None:
            former = self._predecessors(session)
        became = parent_store.bury(session, former, "its worker was lost")
        return partial(self._prepared, former, became)

    def _enlist(self, session: Session) -> Reply:
        since, slots = monotonic(), self._lease.slots
        registered = parent_store.register(session, self._orders, self._name, slots)
        self._lease.hold(registered, since, slots)
        self._registered = registered.worker_id
        return partial(self._enlisted, registered.worker_id, slots)

    def _predecessors(self, session: Session) -> tuple[int, ...]:
        if not self._orders.worker_name and not self._orders.pod_uid:
            return ()
        return parent_store.predecessors(session, self._orders, self._name)

    def _leave(self, session: Session) -> Reply:
        self._lease.drop()
        parent_store.bury(session, self._former or (), "its worker was lost")
        if self._registered is not None:
            parent_store.leave(session, self._registered)
        return self._gone

    # In the parent's loop.

    def _prepared(self, former: tuple[int, ...], became: tuple[Became, ...]) -> None:
        self._former = ()
        self._preparing = False
        self.prepared = True
        if former:
            states = Counter(each.became for each in became)
            self._log.warning("worker.replaced", workers=list(former), attempts=dict(states))
            self._note(became)

    def _enlisted(self, worker_id: int, slots: int) -> None:
        self.worker_id = worker_id
        self._asked = False
        self._log.info("worker.registered", worker=worker_id, slots=slots)

    def _gone(self) -> None:
        self.left = True
