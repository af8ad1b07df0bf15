"""The thread that acquires and renews the Lease: it does what the elector says, and sleeps.

It calls the API server itself, so that a slow read or write of the controller's loop never
costs the Lease.
"""

import random
import threading
from collections.abc import Callable
from datetime import UTC, datetime
from time import monotonic

from fairlead.runtime import log
from fairlead_autoscaler.election import elector
from fairlead_autoscaler.election.elector import Election, Lease, NextStep
from fairlead_autoscaler.election.vacancy import Obstacle, Problem
from fairlead_autoscaler.kube.port import (
    BusyError,
    ConflictError,
    ForbiddenError,
    KubeError,
    KubePort,
    NotFoundError,
    UnreachableError,
)

_log = log.get("autoscaler.lease")


class LeaseThread:
    """One candidate; `start` once, `stop` once.

    Args:
        port: The cluster.
        identity: Unique to this process.
        changed: Called from the thread when it acquires or loses the Lease.
    """

    def __init__(self, port: KubePort, *, identity: str, changed: Callable[[], None]) -> None:
        self._port = port
        self._changed = changed
        self._election = Election(identity=identity)
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="lease", daemon=True)
        self._failing = False
        self._problem: Problem | None = None

    def is_leader(self) -> bool:
        """Return whether this process may write to the cluster at this moment."""
        return self._election.is_leader(monotonic())

    @property
    def term(self) -> int:
        """How often the Lease had changed hands when we acquired it."""
        return self._election.transitions

    @property
    def problem(self) -> Problem | None:
        """What keeps us from the Lease; None: we lead, or another is seen to."""
        return None if self._election.is_led(monotonic()) else self._problem

    def start(self) -> None:
        """Begin to stand for the Lease."""
        self._thread.start()

    def stop(self) -> None:
        """Release the Lease, if it is ours: after the last write to the cluster.

        If that fails the Lease expires by itself.
        """
        self._stop.set()
        self._thread.join(2 * self._election.timing.call_seconds + 1)
        if self._thread.is_alive():
            return
        released = elector.release(self._election, _now())
        self._election = elector.after_release(self._election)
        if released is None:
            return
        try:
            self._port.write_lease(released)
        except KubeError as error:
            _log.warning("lease.release_failed", reason=str(error))

    def _run(self) -> None:
        led_before = False
        while not self._stop.is_set():
            self._step()
            leads = self.is_leader()
            if leads != led_before:
                led_before = leads
                _log.info("lease.acquired" if leads else "lease.lost")
                self._changed()

    def _step(self) -> None:
        """Do one call; after a failure the present trust stays, and expires by itself."""
        election = self._election
        step = elector.next_step(election, monotonic())
        if step is NextStep.REST:
            self._rest(election)
            return
        try:
            self._election = self._called(election, step)
            self._failing = False
        except ConflictError:
            self._election = elector.after_conflict(election)
            self._rest(self._election)
        except NotFoundError as error:
            # What kept us from creating one is the better answer to why there is none.
            self._problem = self._problem or _problem(error)
            self._election = elector.after_missing(election, monotonic())
        except KubeError as error:
            if not self._failing:
                _log.warning("lease.unreachable", reason=str(error))
            self._failing = True
            self._problem = _problem(error)
            self._election = elector.after_failure(election)
            self._rest(self._election)
        if self._election.is_led(monotonic()):
            self._problem = None

    def _called(self, election: Election, step: NextStep) -> Election:
        """Return what is known after a call that succeeded."""
        started_at = monotonic()
        if step is NextStep.READ:
            return elector.after_read(election, self._port.lease(), monotonic())
        record = elector.record_to_write(election, _now())
        lease = self._written(record, step)
        return elector.after_write(election, lease, started_at=started_at, now=monotonic())

    def _written(self, record: Lease, step: NextStep) -> Lease:
        if step is NextStep.WRITE:
            return self._port.write_lease(record)
        lease = self._port.create_lease(record)
        _log.info("lease.created")
        return lease

    def _rest(self, election: Election) -> None:
        rest_seconds = elector.rest_seconds(election, monotonic(), random.random())
        if not self._stop.wait(rest_seconds):
            self._election = elector.after_rest(election)


def _problem(error: KubeError) -> Problem:
    """Return the problem that an error stands for."""
    if isinstance(error, NotFoundError):
        return Problem(Obstacle.LEASE_MISSING, str(error))
    if isinstance(error, ForbiddenError):
        return Problem(Obstacle.LEASE_FORBIDDEN, str(error))
    unreachable = isinstance(error, (UnreachableError, BusyError))
    return Problem(
        Obstacle.API_UNREACHABLE if unreachable else Obstacle.LEASE_REFUSED, str(error)
    )


def _now() -> datetime:
    return datetime.now(UTC)
