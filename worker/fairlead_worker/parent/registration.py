"""Register and deregister the worker, and take over from its predecessors.

A row is given up by marking it dead, so that nothing waits for its lease, and handing back what
it held. That happens at a stop, after a lost lease, and to a predecessor: no other living
worker can have the name or the pod that this one was given.
"""

from collections import Counter
from collections.abc import Callable, Iterable
from functools import partial
from math import inf
from time import monotonic

from fairlead.runtime import log
from fairlead_worker.config import WorkerConfig
from fairlead_worker.db.session import Session
from fairlead_worker.parent import worker_store
from fairlead_worker.parent.lease_thread import DatabaseUnusable, LeaseThread, Reply
from fairlead_worker.parent.worker_store import HandBackResult, Kinds

_LIMITS_SECONDS = 0.05
_LIMITS_SECONDS_MAX = 10.0
"""A leader of an older release never holds to limits of kinds; and while nobody leads, what is
queued is to run."""


class Registration:
    """The row of this worker, if it has one.

    Args:
        config: the worker's settings.
        name: the worker's name.
        lease: runs the database calls.
        record: counts what a predecessor's attempts came to.
    """

    def __init__(
        self,
        config: WorkerConfig,
        name: str,
        lease: LeaseThread,
        record: Callable[[Iterable[HandBackResult]], None],
    ) -> None:
        self._config = config
        self._name = name
        self._lease = lease
        self._record = record
        self._former: tuple[int, ...] | None = None  # None: not looked for yet
        self._registering = self._preparing = False
        self._registered: int | None = None  # set by the lease thread, before `worker_id`
        self._log = log.get("worker.registration").bind(name=name)
        self._awaited: tuple[int, int] | None = None
        self._ask_at = self._ask_until = 0.0
        self.worker_id: int | None = None
        self.prepared = False
        self.deregistered = False

    def prepare(self) -> None:
        """Take over the jobs of former rows once the database answers. A repeat does nothing.

        This worker need not be able to work yet.
        """
        if not self.has_begun_preparing:
            self._preparing = True
            self._lease.submit(self._prepare)

    @property
    def has_begun_preparing(self) -> bool:
        """Whether `prepare` was called, which needs that no child of a former row lives."""
        return self._preparing or self.prepared

    def register(self, kinds: Kinds) -> None:
        """Insert a row with a lease, after `prepare`, and announce the handlers' kinds.

        Where these say how many may run at once in the fleet, it has no id before the leader
        holds to that: more may wait to be claimed. A repeat does nothing else.
        """
        self.prepare()
        if not self._registering:
            self._registering = True
            self._lease.submit(partial(self._register, kinds))
        elif self._awaited is not None and monotonic() >= self._ask_at:
            self._ask_at = inf
            self._lease.submit(partial(self._ask_limits, *self._awaited))

    def lease_lost(self) -> None:
        """Note that the row is no longer ours; `register` inserts a new one."""
        if self.worker_id is not None:
            self._former = (*(self._former or ()), self.worker_id)
        self.worker_id = None
        self.prepared = False
        self._lease.stop_renewing()

    def deregister(self, *, begun: frozenset[int]) -> None:
        """Give up the row and what it still holds; `deregistered` says when that is done.

        Attempts of these tokens have begun, and their ends could not be stored so far.
        """
        unusable = isinstance(self._lease.status, DatabaseUnusable)
        if unusable or (self._registered is None and not self._lease.is_connected):
            self.deregistered = True
        else:
            self._lease.submit(partial(self._deregister, begun))

    # --- in the lease thread ----------------------------------------------------------------

    def _prepare(self, session: Session) -> Reply:
        former = self._former
        if former is None:
            former = self._predecessors(session)
        results = worker_store.take_over(session, former, "its worker was lost")
        return partial(self._prepared, former, results)

    def _register(self, kinds: Kinds, session: Session) -> Reply:
        since, slots = monotonic(), self._lease.slots
        registered = worker_store.register(session, self._config, self._name, slots)
        if kinds.limits:
            worker_store.limit_kinds(session, registered.worker_id, kinds.limits)
        worker_store.announce_kinds(session, registered.worker_id, kinds)
        self._lease.registered(registered, since, slots)
        self._registered = registered.worker_id
        if kinds.limits:
            return partial(self._await_limits, registered.worker_id, slots)
        return partial(self._row_inserted, registered.worker_id, slots)

    def _ask_limits(self, worker_id: int, slots: int, session: Session) -> Reply:
        awaits = worker_store.awaits_limits(session, worker_id)
        return partial(self._limits_answered, worker_id, slots, awaits)

    def _predecessors(self, session: Session) -> tuple[int, ...]:
        if not self._config.worker_name and not self._config.pod_uid:
            return ()
        return worker_store.predecessors(session, self._config, self._name)

    def _deregister(self, begun: frozenset[int], session: Session) -> Reply:
        self._lease.stop_renewing()
        worker_store.take_over(session, self._former or (), "its worker was lost")
        if self._registered is not None:
            worker_store.deregister(session, self._registered, begun)
        return self._row_left

    # --- in the parent's loop ---------------------------------------------------------------

    def _prepared(self, former: tuple[int, ...], results: tuple[HandBackResult, ...]) -> None:
        self._former = ()
        self._preparing = False
        self.prepared = True
        if former:
            states = Counter(each.state for each in results)
            self._log.warning("worker.replaced", workers=list(former), attempts=dict(states))
            self._record(results)

    def _row_inserted(self, worker_id: int, slots: int) -> None:
        self.worker_id = worker_id
        self._registering = False
        self._log.info("worker.registered", worker=worker_id, slots=slots)

    def _await_limits(self, worker_id: int, slots: int) -> None:
        self._awaited = worker_id, slots
        self._ask_at, self._ask_until = monotonic(), monotonic() + _LIMITS_SECONDS_MAX

    def _limits_answered(self, worker_id: int, slots: int, awaits: object) -> None:
        now = monotonic()
        self._ask_at = now + _LIMITS_SECONDS
        if awaits and now < self._ask_until:
            return
        if awaits:
            self._log.warning("worker.limits_unknown", worker=worker_id)
        self._awaited = None
        self._row_inserted(worker_id, slots)

    def _row_left(self) -> None:
        self.deregistered = True
