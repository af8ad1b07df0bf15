"""The thread that keeps the Lease: it does what the elector says, and sleeps between.

It speaks to the API server by itself, so that a slow look or write of the controller's loop
never costs it the Lease.
"""

import random
import threading
from collections.abc import Callable
from datetime import UTC, datetime
from time import monotonic

from fairlead import log
from fairlead_autoscaler import elector
from fairlead_autoscaler.elector import Election, Next
from fairlead_autoscaler.kube.port import ConflictError, KubeError, KubePort

_log = log.get("autoscaler.lease")


class Keeper:
    """One candidate; `start` once, `stop` once.

    Args:
        port: The cluster.
        identity: Unique to this process.
        changed: Called from the thread when it begins or ceases to lead.
    """

    def __init__(self, port: KubePort, *, identity: str, changed: Callable[[], None]) -> None:
        self._port = port
        self._changed = changed
        self._election = Election(identity=identity)
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="lease", daemon=True)
        self._troubled = False

    def leads(self) -> bool:
        """Tell whether this process may write to the cluster at this moment."""
        return self._election.leads(monotonic())

    @property
    def term(self) -> int:
        """How often the Lease had changed hands when we were given it."""
        observed = self._election.observed
        return 0 if observed is None else observed.transitions

    def start(self) -> None:
        """Begin to stand for the Lease."""
        self._thread.start()

    def stop(self) -> None:
        """Give the Lease away, if it is ours: after the last write to the cluster.

        If that fails the Lease lapses by itself.
        """
        self._stop.set()
        self._thread.join(2 * self._election.timing.call_seconds + 1)
        if self._thread.is_alive():
            return
        given = elector.release(self._election, _now())
        self._election = elector.released(self._election)
        if given is None:
            return
        try:
            self._port.write_lease(given)
        except KubeError as error:
            _log.warning("lease.not_released", reason=str(error))

    def _run(self) -> None:
        led = False
        while not self._stop.is_set():
            self._step()
            leads = self.leads()
            if leads != led:
                led = leads
                _log.info("lease.taken" if leads else "lease.lost")
                self._changed()

    def _step(self) -> None:
        """Do one thing; a failure leaves the trust as it was, which ends by itself."""
        election = self._election
        move = elector.following(election, monotonic())
        try:
            if move is Next.READ:
                lease = self._port.lease()
                self._election = elector.seen(election, lease, monotonic())
            elif move is Next.WRITE:
                begun_at = monotonic()
                lease = self._port.write_lease(elector.claim(election, _now()))
                self._election = elector.written(
                    election, lease, begun_at=begun_at, now=monotonic()
                )
            else:
                self._rest(election)
                return
            self._troubled = False
        except ConflictError:
            self._election = elector.conflicted(election)
            self._rest(self._election)
        except KubeError as error:
            if not self._troubled:
                _log.warning("lease.unreachable", reason=str(error))
            self._troubled = True
            self._election = elector.failed(election)
            self._rest(self._election)

    def _rest(self, election: Election) -> None:
        rest_seconds = elector.rest_seconds(election, monotonic(), random.random())
        if not self._stop.wait(rest_seconds):
            self._election = elector.rested(election)


def _now() -> datetime:
    return datetime.now(UTC)
