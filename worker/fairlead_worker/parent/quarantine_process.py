"""One quarantine process, which runs suspect jobs one at a time, and how long it serves.

It lives on after a job: starting one takes as long as loading the application does, and one bad
job may have many neighbours. It ends when it dies, when a job needs a fresh process, after a
certain number of jobs, or after a while without any.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import timedelta

from fairlead.runtime import log
from fairlead_worker.ipc import messages
from fairlead_worker.ipc.attempt_key import Key
from fairlead_worker.ipc.attempt_table import AttemptEntry
from fairlead_worker.ipc.interruptions import Cause, Died, Interruption, Stopped, endings
from fairlead_worker.ipc.source import Source
from fairlead_worker.parent.child_handle import ChildHandle

JOBS_MAX = 100
"""How many jobs one process runs: what they leave behind must not add up."""
IDLE_SECONDS = 10.0
"""How long it waits for another one."""
BEGIN_SECONDS = 30.0
"""How long a job that was sent may take to begin: what earlier ones left may be in its way."""
SNOOZE = timedelta(seconds=5)
"""How long a job is put off whose process died before it was ready to run one."""
_RETIRE_SECONDS = 5.0
_RETIRED = Stopped("its quarantine process was replaced")


@dataclass(frozen=True, slots=True)
class SuspectJob:
    """A job that runs in quarantine.

    It is suspect, or else the breaker of its source is open. It may need a process in which
    nothing has run yet.
    """

    job_id: int
    token: int
    source: Source
    suspect: bool
    needs_fresh: bool = False

    @property
    def key(self) -> Key:
        """Its id and token."""
        return self.job_id, self.token


class QuarantineProcess:
    """A process and the job that it runs.

    Args:
        child: the process, which has just been started.
        now: when that was.
    """

    def __init__(self, child: ChildHandle, now: float) -> None:
        self.child = child
        self.job: SuspectJob | None = None
        self.retired = False
        self._since = now
        self._jobs = 0
        self._log = log.get("worker.quarantine").bind(pid=child.pid)

    @property
    def is_free(self) -> bool:
        """Whether it may be sent a job now."""
        return self.child.ready and not self.retired and self.job is None

    @property
    def is_fresh(self) -> bool:
        """Whether no job has run in it."""
        return self._jobs == 0

    def run(self, job: SuspectJob, now: float) -> None:
        """Send it a job to run."""
        self.job, self._since = job, now
        self._jobs += 1
        self.child.send(messages.RunSuspect(job.job_id, job.token))

    def check(self, now: float, *, wanted: bool) -> None:
        """Retire it when it has served long enough, or does not begin the job it was sent."""
        if self.retired or not self.child.ready:
            return
        lasted_seconds = now - self._since
        if self.job is None:
            idle = not wanted and lasted_seconds >= IDLE_SECONDS
            if idle or self._jobs >= JOBS_MAX:
                self.retire()
        elif lasted_seconds >= BEGIN_SECONDS and not self.child.running():
            self._log.error("quarantine.not_started", job=self.job.job_id)
            self.retire()

    def retire(self) -> None:
        """Send it no more jobs and end it."""
        self.retired = True
        self.child.send(messages.Drain())
        self.child.end(_RETIRED, within_seconds=_RETIRE_SECONDS)

    def clear_job(self, now: float) -> None:
        """Note that it no longer has its job."""
        self.job, self._since = None, now

    def died(self, started: Iterable[AttemptEntry], cause: Cause) -> tuple[Interruption, ...]:
        """Return how the job ended that it had when it died.

        A job that was sent is to blame for a death before it has begun as well, or one whose
        payload no process can hold would be sent again without end.
        """
        ended = endings(started, cause)
        if ended or self.job is None:
            return ended
        if isinstance(cause, Died):
            how = f"the process that was to run it alone {cause.how}"
            return (Interruption(*self.job.key, "crashed", how),)
        return never_ran(self.job, cause)


def never_ran(job: SuspectJob, cause: Cause) -> tuple[Interruption, ...]:
    """Return how an attempt ended that no process was ready for, or whose process was replaced.

    It is not to blame, but it is put off a little after a death, or a machine that cannot start
    processes would try it without end.
    """
    match cause:
        case Died():
            return (Interruption(job.job_id, job.token, "snoozed", None, SNOOZE),)
        case Stopped():
            return (Interruption(job.job_id, job.token, "returned"),)
        case _:
            return ()
