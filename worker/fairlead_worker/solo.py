"""Jobs that run in a process of their own, one at a time, because a process that ran them died.

The child that claimed such a job hands it over and keeps a slot for it until it is settled. If
that child dies meanwhile, the job stays here: it is the parent's.
"""

from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import timedelta

from fairlead import log
from fairlead_worker import wire
from fairlead_worker.children import Child
from fairlead_worker.ledger_view import Cause, Died, Ending, endings

_REST = timedelta(seconds=5)


@dataclass(frozen=True, slots=True)
class Case:
    """A job that runs alone, and the child that keeps a slot for it."""

    job_id: int
    token: int
    sender: Child


class Solo:
    """At most one child that runs one job alone, and the jobs that wait for that.

    Args:
        start: starts a child for the attempt that it is given, as job id and token.
    """

    def __init__(self, start: Callable[[tuple[int, int]], Child]) -> None:
        self._start = start
        self._waiting: deque[Case] = deque()
        self._case: Case | None = None
        self._start_at = 0.0
        self._log = log.get("worker.solo")
        self.child: Child | None = None

    @property
    def tokens(self) -> frozenset[int]:
        """The attempts that are here, waiting or running."""
        case = () if self._case is None else (self._case.token,)
        return frozenset((*case, *(each.token for each in self._waiting)))

    def take(self, message: wire.Alone, sender: Child) -> None:
        """Take over an attempt from the child that claimed it."""
        self._waiting.append(Case(message.job_id, message.token, sender))

    def next(self, now: float) -> None:
        """Start the next one, if none runs."""
        if self.child is not None or not self._waiting or now < self._start_at:
            return
        case = self._waiting[0]
        try:
            self.child = self._start((case.job_id, case.token))
        except OSError as error:
            self._log.error("child.not_started", why=str(error))
            self._start_at = now + _REST.total_seconds()
            return
        self._case = self._waiting.popleft()

    def endings(self, started: Iterable[wire.Entry], cause: Cause) -> tuple[Ending, ...]:
        """Return how the attempt ended whose child is dead.

        One whose child died before the handler began is not to blame, but it rests a little, or
        a machine that cannot start children would try it without end.
        """
        ended = endings(started, cause)
        case = self._case
        if ended or case is None or not isinstance(cause, Died) or cause.exit_code == 0:
            return ended
        return (Ending(case.job_id, case.token, "snoozed", None, _REST),)

    def settle(self) -> None:
        """Take note that the child is dead and handed back."""
        if self._case is not None:
            _settled(self._case)
        self._case = self.child = None

    def give_up(self) -> tuple[Ending, ...]:
        """Return what waits, to be handed back; their slots are free again."""
        cases = tuple(self._waiting)
        self._waiting.clear()
        for case in cases:
            _settled(case)
        return tuple(Ending(case.job_id, case.token, "returned") for case in cases)


def _settled(case: Case) -> None:
    case.sender.say(wire.Settled(case.job_id, case.token))
