"""The children that claim: how many there are to be, and what their deaths mean."""

from dataclasses import dataclass
from time import monotonic

from fairlead import log
from fairlead_worker import wire
from fairlead_worker.children import Child
from fairlead_worker.orders import Orders

DEATHS_AT_START_MAX = 5
_REST_SECONDS_FIRST, _REST_SECONDS_MAX = 0.1, 5.0
_CANNOT_LOAD = 2


def rest_seconds(deaths_at_start: int) -> float:
    """Return how long to rest before the next child starts: none after a death at work."""
    if deaths_at_start == 0:
        return 0.0
    return min(_REST_SECONDS_FIRST * 2.0 ** (deaths_at_start - 1), _REST_SECONDS_MAX)


@dataclass(frozen=True, slots=True)
class Hopeless:
    """No child can be started; the sentence says why, or the child has said it already."""

    exit_code: int
    sentence: str | None


class Crew:
    """The claiming children of one registration at a time.

    Args:
        orders: the worker's settings.
    """

    def __init__(self, orders: Orders) -> None:
        self._orders = orders
        self._deaths_at_start = 0
        self._start_at = 0.0
        self._log = log.get("worker.crew")
        self.children: tuple[Child, ...] = ()
        self.served = False
        self._rests = 0

    def fill(self, now: float) -> None:
        """Start the children that are missing, unless the last ones died too quickly."""
        while len(self.children) < self._orders.processes and now >= self._start_at:
            try:
                child = Child(self._orders)
            except OSError as error:
                self._log.error("child.not_started", why=str(error))
                self._start_at = now + _REST_SECONDS_MAX
                return
            self.children = (*self.children, child)
            self._log.info("child.started", pid=child.pid)

    def ready(self, child: Child, message: wire.Ready) -> None:
        """Take note that a child could work."""
        child.ready = True
        self._deaths_at_start = 0
        self._log.debug("child.loaded", pid=child.pid, kinds=list(message.kinds))

    def go(self, worker_id: int) -> None:
        """Let the children that are ready claim, under this id. A repeat does nothing."""
        for child in self.children:
            if child.ready and not child.goes:
                child.goes = self.served = True
                child.rest = None
                child.say(wire.Go(worker_id))
                self._log.info("child.ready", pid=child.pid, worker=worker_id)

    def rest(self) -> None:
        """Have the children that claim stop it, until `go`. A repeat does nothing."""
        for child in self.children:
            if child.goes:
                self._rests += 1
                child.goes, child.rest = False, self._rests
                child.say(wire.Rest(self._rests))

    def rested(self, child: Child, message: wire.Rested) -> None:
        """Take note that a child holds nothing, unless it may claim again by now."""
        if child.rest == message.number:
            child.rest = None

    @property
    def rests(self) -> bool:
        """Whether no child claims or holds anything."""
        return not any(child.goes or child.rest is not None for child in self.children)

    @property
    def slots(self) -> int:
        """How many jobs the children that are ready run at a time."""
        return self._orders.concurrency * sum(child.ready for child in self.children)

    def remove(self, child: Child, exit_code: int) -> Hopeless | None:
        """Take note of a death; answer whether there is no hope in starting another."""
        self.children = tuple(each for each in self.children if each is not child)
        if child.cause is not None or child.ready:
            return None
        self._deaths_at_start += 1
        if exit_code == _CANNOT_LOAD:
            return Hopeless(_CANNOT_LOAD, None)
        if self._deaths_at_start >= DEATHS_AT_START_MAX:
            return Hopeless(
                1,
                f"{self._orders.app}: {self._deaths_at_start} processes in a row died before "
                f"they were ready, the last with code {exit_code}; its own words are above",
            )
        self._start_at = monotonic() + rest_seconds(self._deaths_at_start)
        return None

    @property
    def idle(self) -> bool:
        """Whether every child that there is to be has nothing to do."""
        there = len(self.children) == self._orders.processes
        return there and all(child.idle for child in self.children)
