"""Jobs, their handlers and time, as simulated workers see them."""

from collections.abc import Callable
from dataclasses import dataclass
from heapq import heappop, heappush
from typing import Protocol

from fairlead.tasks import Handler
from fairlead_worker.ipc.source import Source

MS, SECOND = 1000, 1_000_000
TIMEOUT_SECONDS = 60.0
"""Of handlers that set none."""
ENDS, GATES, STALLS = "slots until the end", "gates", "loop watch"
HISTORY, BREAKER, SPARE, RETIRING = "crash history", "circuit breaker", "spare", "retiring"
TEMPLATE, STAND_IN = "template of children", "slots of what does not stop"
"""Defences that can be left away, to see what an attack would do without them."""


@dataclass(frozen=True, slots=True)
class Kind:
    """A handler: where it runs, and what harm it does."""

    handler: Handler
    keeps_loop: bool = False
    """Whether it keeps the event loop while it runs there."""
    completes_early: bool = False
    """Whether it completes its job at once, and keeps its slot."""
    ends_process: bool = False
    never_stops: bool = False
    """Whether it runs on when it is asked to stop."""

    @property
    def name(self) -> str:
        """What it is called."""
        return self.handler.kind

    @property
    def timeout_us(self) -> int:
        """How long it may run."""
        return int((self.handler.timeout_seconds or TIMEOUT_SECONDS) * SECOND)


@dataclass(slots=True)
class JobRow:
    """A job as workers see it."""

    id: int
    kind: str
    tenant: str
    cost_us: int
    alone: bool = False
    crashes: int = 0
    deaths_alone: int = 0

    @property
    def source(self) -> Source:
        """Whom its deaths are blamed on."""
        return (self.kind, self.tenant)


class Queue(Protocol):
    """Where jobs come from, and where it is reported what became of them."""

    def take(self, jobs_max: int, full_kinds: tuple[str, ...]) -> list[JobRow]:
        """Claim rows, but none of these kinds."""
        ...

    def pass_over(self, full_kinds: tuple[str, ...]) -> None:
        """Report that rows of these kinds have been passed over."""
        ...

    def began(self, job_id: int) -> None:
        """Note that a job's handler has begun in its slot."""
        ...

    def finished(self, job_id: int, run_us: int) -> None:
        """Note that a handler has left its slot, and what it is charged for."""
        ...

    def completed(self, job_id: int, run_us: int) -> None:
        """Note that a job counts as ended, though its handler goes on."""
        ...

    def returned(self, job_id: int) -> None:
        """Take a job back that waits again, at once."""
        ...

    def put_off(self, job_id: int, until_us: int) -> None:
        """Take a job back that waits again from then on."""
        ...


class Clock:
    """Simulated time: what happens, and when."""

    def __init__(self) -> None:
        self.now_us = 0
        self.happened = 0
        """How many events there were."""
        self._events: list[tuple[int, int, Callable[[], None]]] = []
        self._count = 0

    @property
    def now(self) -> float:
        """The time in seconds."""
        return self.now_us / SECOND

    def at(self, at_us: int, act: Callable[[], None]) -> None:
        """Let something happen at that time."""
        self._count += 1
        heappush(self._events, (at_us, self._count, act))

    def run(self, until_us: int) -> None:
        """Let happen what happens until then; an event may run it too, while it takes time."""
        while self._events and self._events[0][0] <= until_us:
            at_us, _, act = heappop(self._events)
            self.now_us = max(self.now_us, at_us)
            self.happened += 1
            act()
        self.now_us = max(self.now_us, until_us)
