"""Jobs that run alone, one at a time in a child of their own: a process that ran them died.

The child that claimed such a job hands it over and keeps a slot for it until it is settled. If
that child dies meanwhile, the job stays here: it is the parent's. While it waits its time has
not begun, so its deadline is kept ahead of the clock.

The child that runs them lives on: starting one takes as long as loading the application does,
and the neighbours of one bad job may be many. Only a death, a job that needs a fresh process,
a certain number of jobs, or a while without any ends it.
"""

from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import timedelta

from fairlead import log
from fairlead_worker import wire
from fairlead_worker.children import Child
from fairlead_worker.ledger_view import Cause, Died, Ending, Stopped, endings
from fairlead_worker.parent_store import Key

JOBS_MAX = 100
"""How many jobs one process runs: what they leave behind must not add up."""
IDLE_SECONDS = 10.0
"""How long it waits for another one."""
BEGIN_SECONDS = 30.0
"""How long a job that was given may take to begin: what earlier ones left may be in its way."""
_RETIRE_SECONDS = 5.0
_RETIRED = Stopped("the process for jobs that run alone was replaced")
_REST = timedelta(seconds=5)


@dataclass(frozen=True, slots=True)
class Case:
    """A job that runs alone, and the child that keeps a slot for it."""

    job_id: int
    token: int
    sender: Child


class Solo:
    """At most one child that runs jobs alone, and the jobs that wait for it.

    Args:
        start: starts such a child.
    """

    def __init__(self, start: Callable[[], Child]) -> None:
        self._start = start
        self._waiting: deque[Case] = deque()
        self._case: Case | None = None
        self._start_at = self._since = 0.0
        self._jobs = 0
        self._retired = False
        self._log = log.get("worker.solo")
        self.child: Child | None = None

    @property
    def tokens(self) -> frozenset[int]:
        """The attempts that are here, waiting or running."""
        case = () if self._case is None else (self._case.token,)
        return frozenset((*case, *(each.token for each in self._waiting)))

    def waiting(self) -> tuple[Key, ...]:
        """Return the attempts that wait, the next one first."""
        return tuple((each.job_id, each.token) for each in self._waiting)

    def take(self, message: wire.Alone, sender: Child) -> None:
        """Take over an attempt from the child that claimed it."""
        self._waiting.append(Case(message.job_id, message.token, sender))

    def next(self, now: float, *, untouchable: frozenset[Key] = frozenset()) -> None:
        """Have the next one run, if none does; start or retire the child as need be.

        What is untouchable has to wait for a moment.
        """
        child, lasted_seconds = self.child, now - self._since
        if child is None:
            self._begin(now)
        elif not child.ready or self._retired:
            return
        elif self._case is not None:
            if lasted_seconds >= BEGIN_SECONDS and not child.running():
                self._log.error("alone.not_begun", job=self._case.job_id, pid=child.pid)
                self._retire(child)
        elif self._waiting and self._jobs < JOBS_MAX:
            if self.waiting()[0] not in untouchable:
                self._give(child, self._waiting.popleft(), now)
        elif self._waiting or lasted_seconds >= IDLE_SECONDS:
            self._retire(child)

    def _begin(self, now: float) -> None:
        if not self._waiting or now < self._start_at:
            return
        try:
            self.child = self._start()
        except OSError as error:
            self._log.error("child.not_started", why=str(error))
            self._start_at = now + _REST.total_seconds()

    def _give(self, child: Child, case: Case, now: float) -> None:
        self._case, self._since = case, now
        self._jobs += 1
        child.say(wire.Take(case.job_id, case.token))

    def _retire(self, child: Child) -> None:
        self._retired = True
        child.say(wire.Drain())
        child.end(_RETIRED, within_seconds=_RETIRE_SECONDS)

    def ended(self, message: wire.Ended, now: float) -> None:
        """Take note that an attempt has ended in the child."""
        case = self._case
        if case is not None and case.token == message.token:
            self._case, self._since = None, now
            _settled(case)

    def declined(self, message: wire.Declined) -> None:
        """Keep an attempt for a fresh child, and end the one that declined it."""
        case, child = self._case, self.child
        if case is not None and child is not None and case.token == message.token:
            self._case = None
            self._waiting.appendleft(case)
            self._retire(child)

    def bury(self, started: Iterable[wire.Entry], cause: Cause) -> tuple[Ending, ...]:
        """Take note that the child is dead; return how the attempt ended that it had."""
        child, case = self.child, self._case
        self._case = self.child = None
        self._jobs, self._retired = 0, False
        if case is None and child is not None and not child.ready and isinstance(cause, Died):
            case = self._waiting.popleft() if self._waiting else None
        if case is not None:
            _settled(case)
        ended = endings(started, cause)
        return ended if ended or case is None else _unbegun(case, cause)

    def give_up(self) -> tuple[Ending, ...]:
        """Return what waits, to be handed back; their slots are free again."""
        cases = tuple(self._waiting)
        self._waiting.clear()
        for case in cases:
            _settled(case)
        return tuple(Ending(case.job_id, case.token, "returned") for case in cases)


def _unbegun(case: Case, cause: Cause) -> tuple[Ending, ...]:
    """Return how an attempt ended whose child died before the handler began, or after its end.

    It is not to blame, but it rests a little after a death, or a machine that cannot start
    children would try it without end.
    """
    match cause:
        case Died():
            return (Ending(case.job_id, case.token, "snoozed", None, _REST),)
        case Stopped():
            return (Ending(case.job_id, case.token, "returned"),)
        case _:
            return ()


def _settled(case: Case) -> None:
    case.sender.say(wire.Settled(case.job_id, case.token))
