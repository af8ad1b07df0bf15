"""One process that runs jobs alone, one at a time, and how long it serves.

It lives on after a job: starting one takes as long as loading the application does, and the
neighbours of one bad job may be many. Only a death, a job that needs a fresh process, a certain
number of jobs, or a while without any ends it.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import timedelta

from fairlead import log
from fairlead_worker import wire
from fairlead_worker.children import Child
from fairlead_worker.keys import Key
from fairlead_worker.ledger import Entry
from fairlead_worker.ledger_view import Cause, Died, Ending, Stopped, endings

JOBS_MAX = 100
"""How many jobs one process runs: what they leave behind must not add up."""
IDLE_SECONDS = 10.0
"""How long it waits for another one."""
BEGIN_SECONDS = 30.0
"""How long a job that was given may take to begin: what earlier ones left may be in its way."""
REST = timedelta(seconds=5)
"""How long a job rests whose process died before it had begun, or after it had ended."""
_RETIRE_SECONDS = 5.0
_RETIRED = Stopped("the process for jobs that run alone was replaced")


@dataclass(frozen=True, slots=True)
class Case:
    """A job that runs alone; it may need a process in which nothing has run yet."""

    job_id: int
    token: int
    needs_fresh: bool = False

    @property
    def key(self) -> Key:
        """Its id and token."""
        return self.job_id, self.token


class Seat:
    """A process and the job that it has.

    Args:
        child: the process, which has just been started.
        now: when that was.
    """

    def __init__(self, child: Child, now: float) -> None:
        self.child = child
        self.case: Case | None = None
        self.retired = False
        self._since = now
        self._jobs = 0
        self._log = log.get("worker.solo").bind(pid=child.pid)

    @property
    def free(self) -> bool:
        """Whether it may be given a job now."""
        return self.child.ready and not self.retired and self.case is None

    @property
    def fresh(self) -> bool:
        """Whether no job has run in it."""
        return self._jobs == 0

    def give(self, case: Case, now: float) -> None:
        """Have it run a job."""
        self.case, self._since = case, now
        self._jobs += 1
        self.child.say(wire.Take(case.job_id, case.token))

    def check(self, now: float, *, wanted: bool) -> None:
        """Retire it when it has served long enough, or does not begin what it was given."""
        if self.retired or not self.child.ready:
            return
        lasted_seconds = now - self._since
        if self.case is None:
            idle = not wanted and lasted_seconds >= IDLE_SECONDS
            if idle or self._jobs >= JOBS_MAX:
                self.retire()
        elif lasted_seconds >= BEGIN_SECONDS and not self.child.running():
            self._log.error("alone.not_begun", job=self.case.job_id)
            self.retire()

    def retire(self) -> None:
        """Give it nothing more and have it end."""
        self.retired = True
        self.child.say(wire.Drain())
        self.child.end(_RETIRED, within_seconds=_RETIRE_SECONDS)

    def leave(self, now: float) -> None:
        """Take note that it has its job no longer."""
        self.case, self._since = None, now

    def bury(self, started: Iterable[Entry], cause: Cause) -> tuple[Ending, ...]:
        """Return how the job ended that it had when it died."""
        ended = endings(started, cause)
        return ended if ended or self.case is None else unbegun(self.case, cause)


def unbegun(case: Case, cause: Cause) -> tuple[Ending, ...]:
    """Return how an attempt ended whose process died before it had begun, or after its end.

    It is not to blame, but it rests a little after a death, or a machine that cannot start
    processes would try it without end.
    """
    match cause:
        case Died():
            return (Ending(case.job_id, case.token, "snoozed", None, REST),)
        case Stopped():
            return (Ending(case.job_id, case.token, "returned"),)
        case _:
            return ()
