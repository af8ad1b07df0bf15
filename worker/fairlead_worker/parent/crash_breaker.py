"""A circuit breaker per source: jobs whose kind and tenant keep ending processes run alone.

Pure: faults, endings and the time go in; what is open comes out. A *fault* is a job that has
ended a process that others need: by its death, or because the job ignored its timeout and the
process had to be killed. Several faults of one job count once, so that one bad job, which is
quarantined by itself, opens nothing.

After `FAULTS_MAX` jobs within `WINDOW_SECONDS` the breaker of their source *opens*: its jobs
run in quarantine processes only, one at a time on this worker. Later it *half-opens*: the next
one is the trial. If the trial ends well the breaker closes; another fault opens it again, for
twice as long.
"""

from collections import OrderedDict
from dataclasses import dataclass, field

from fairlead_worker.ipc.source import Source

FAULTS_MAX = 3
WINDOW_SECONDS = 600.0
OPEN_SECONDS = 60.0
OPEN_SECONDS_MAX = 960.0
SOURCES_MAX = 1000
"""How many sources are remembered; those without a fault for longest go first."""


@dataclass(slots=True)
class _Breaker:
    """One source's: when which of its jobs had its last fault, and until when it is open."""

    faults: dict[int, float] = field(default_factory=dict[int, float])
    opened: int = 0
    """How often in a row it has opened."""
    open_until: float | None = None
    closed_at: float = 0.0


class CrashBreakers:
    """The breakers of one worker."""

    def __init__(self) -> None:
        self._breakers: OrderedDict[Source, _Breaker] = OrderedDict()

    @property
    def open(self) -> frozenset[Source]:
        """The sources whose jobs run alone: open and half-open."""
        return frozenset(
            source for source, each in self._breakers.items() if each.open_until is not None
        )

    def open_seconds(self, source: Source, now: float) -> float:
        """Return how long until it half-opens; 0 when it has, or is closed."""
        breaker = self._breakers.get(source)
        if breaker is None or breaker.open_until is None:
            return 0.0
        return max(0.0, breaker.open_until - now)

    def fault(self, source: Source, job_id: int, now: float) -> float | None:
        """Note a fault; return for how many seconds that opens the breaker, if it does."""
        breaker = self._breakers.setdefault(source, _Breaker())
        self._breakers.move_to_end(source)
        while len(self._breakers) > SOURCES_MAX:
            self._breakers.popitem(last=False)
        breaker.faults[job_id] = now
        breaker.faults = {
            job: at for job, at in breaker.faults.items() if at > now - WINDOW_SECONDS
        }
        if breaker.open_until is not None:
            return self._open(breaker, now) if now >= breaker.open_until else None
        if breaker.opened and now > breaker.closed_at + WINDOW_SECONDS:
            breaker.opened = 0
        # A source that has just been trusted again has spent its budget.
        if len(breaker.faults) >= (1 if breaker.opened else FAULTS_MAX):
            return self._open(breaker, now)
        return None

    def ended_well(self, source: Source, now: float) -> bool:
        """Note that a job of this source ended alone; return whether that closes a breaker."""
        breaker = self._breakers.get(source)
        if breaker is None or breaker.open_until is None or now < breaker.open_until:
            return False
        breaker.open_until, breaker.closed_at = None, now
        breaker.faults = {}
        return True

    def _open(self, breaker: _Breaker, now: float) -> float:
        seconds = min(OPEN_SECONDS * 2.0**breaker.opened, OPEN_SECONDS_MAX)
        breaker.opened += 1
        breaker.open_until = now + seconds
        return seconds
