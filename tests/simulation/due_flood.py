"""Jobs of one tenant that are due at one instant, beside delayed jobs of another, simulated.

The sweep is the product's own, as is the order that its jobs come into. Its two statements take
rows by instant and by lane as the files in the `sql` folder say, and last for as long as they
did on PostgreSQL, where the same is a scene of the bench.
"""

from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from heapq import heappush
from queue import SimpleQueue
from random import Random
from typing import cast

from fairlead.db.connect import Connection
from fairlead.runtime.wakeup import Wakeup
from fairlead_scheduler.background.sweeps import Sweeps
from fairlead_scheduler.loop.requests import Requests, take_all
from fairlead_scheduler.metrics.registry import Metrics
from fairlead_scheduler.rows import Event, Promoted
from fairlead_scheduler.settings import SchedulerSettings
from tests.simulation.reads import Rows, Values
from tests.simulation.session import Process, Session, Troubles
from tests.simulation.statements import Statements
from tests.support.attacked_fleet import DEPTH
from tests.support.fleet import Fleet, Job, Key
from tests.support.simulated_jobs import MS, SECOND, Clock

FLOOD_JOBS = 300_000
FLOOD_US = 4 * SECOND
"""When the flood is due."""
SECONDS = 15
_LAST_US = 14 * SECOND
_STEP_US = 100 * MS
_RUN_US = 10 * MS
_JOB_US = 21
"""How long a statement takes for each job that it promotes: the whole flood took 6.4 s."""
_SETTINGS = SchedulerSettings(database_url="postgresql://nowhere/none")


@dataclass(slots=True)
class ScheduledJobs:
    """The rows of `jobs` that are scheduled, by the instant at which they are due.

    Args:
        jobs: in the order of these instants.
    """

    jobs: Iterable[Job]
    now_us: int = 0
    promoted: int = 0
    """How many have been promoted so far."""
    _left: dict[int, Job] = field(default_factory=dict[int, Job])
    _by_instant: deque[Job] = field(default_factory=deque[Job])
    _by_lane: dict[Key, deque[Job]] = field(default_factory=dict[Key, deque[Job]])

    def __post_init__(self) -> None:
        for job in self.jobs:
            self._left[job.id] = job
            self._by_instant.append(job)
            self._by_lane.setdefault(job.lane, deque()).append(job)

    def run(self, name: str, values: Values) -> Rows:
        """Run one of the two statements that promote."""
        return {"promote": self._promote, "promote_turns": self._promote_turns}[name](values)

    def _promote(self, values: Values) -> Rows:
        """Promote so many of all that are due, in order of time."""
        taken = self._take(self._by_instant, values["limit"])
        reached_us = max((job.arrived_us for job in taken), default=None)
        later_us = self._by_instant[0].arrived_us if self._by_instant else None
        return [(self.now_us, reached_us, later_us, *_columns(taken))]

    def _promote_turns(self, values: Values) -> Rows:
        """Promote so many of each lane behind one, until there are enough."""
        after = (values["after_queue"], values["after_tenant"])
        walked = [lane for lane in sorted(self._by_lane) if lane > after][: values["lanes"]]
        taken: list[Job] = []
        for lane in walked:
            room = min(values["lane_jobs"], values["limit"] - len(taken))
            taken += self._take(self._by_lane[lane], room)
        reached: Key | tuple[None, None] = (None, None)
        if len(taken) >= values["limit"]:
            reached = taken[-1].lane
        elif len(walked) >= values["lanes"]:
            reached = walked[-1]
        return [(*_columns(taken), len({job.lane for job in taken}), *reached)]

    def _take(self, jobs: deque[Job], most: int) -> list[Job]:
        """Take the first of these that are due and still scheduled."""
        taken: list[Job] = []
        while jobs and len(taken) < most and jobs[0].arrived_us <= self.now_us:
            job = jobs.popleft()
            if self._left.pop(job.id, None) is not None:
                taken.append(job)
        self.promoted += len(taken)
        return taken


def _columns(jobs: Sequence[Job]) -> tuple[object, ...]:
    return (
        [job.id for job in jobs] or None,
        [job.id for job in jobs],
        [job.queue for job in jobs],
        [job.tenant for job in jobs],
        [job.rank for job in jobs],
        None,
    )


class _Nobody(Wakeup):
    """Wakes nobody: the leader looks at each tick."""

    def __init__(self) -> None:
        pass

    def wake(self) -> None:
        """Do nothing."""


class PromotingFleet(Fleet):
    """A fleet whose leader promotes: a job arrives when a statement that takes it is over."""

    def __init__(self, scheduled: ScheduledJobs, *, slots: int) -> None:
        super().__init__(slots=slots, depth=DEPTH, tick_us=10 * MS)
        self._scheduled, self._events = scheduled, SimpleQueue[Event]()
        self._sweep_us = 0
        """When the sweep runs next."""
        process = Process(Clock(), Random(1), Troubles(latency_us=0))
        session = Session(process, cast("Statements", scheduled))
        self._sweeps = Sweeps(
            cast("Connection", session),
            _SETTINGS,
            epoch=1,
            requests=Requests(lambda _: None),
            events=self._events,
            wakeup=_Nobody(),
            metrics=Metrics(),
        )
        self._unseen = {job.id: job for job in scheduled.jobs}

    def _insert(self) -> None:
        if self.now_us >= self._sweep_us:
            self._sweep()
        super()._insert()

    def _sweep(self) -> None:
        before = self._scheduled.promoted
        self._scheduled.now_us = self.now_us
        leaves_some = self._sweeps.promote()
        over_us = self.now_us + _JOB_US * (self._scheduled.promoted - before)
        rest_us = 0 if leaves_some else int(_SETTINGS.promote_seconds * SECOND)
        self._sweep_us = over_us + rest_us
        for event in take_all(self._events):
            assert isinstance(event, Promoted)
            for row in event.rows:
                heappush(self._arrivals, (over_us, row.id, self._unseen.pop(row.id)))


def quiet_waits_us(*, slots: int, flood: bool) -> list[int]:
    """Return for how long ten delayed jobs a second wait for a slot once they are due."""
    times_us = [(due_us, "quiet") for due_us in range(0, _LAST_US, _STEP_US)]
    if flood:
        times_us += [(FLOOD_US, "liar")] * FLOOD_JOBS
    jobs = [
        Job(number, 0, "q", tenant, _RUN_US, due_us)
        for number, (due_us, tenant) in enumerate(sorted(times_us), 1)
    ]
    fleet = PromotingFleet(ScheduledJobs(jobs), slots=slots)
    fleet.run(SECONDS * SECOND)
    until_us = SECONDS * SECOND
    return [
        (until_us if job.claimed_us is None else job.claimed_us) - job.arrived_us
        for job in jobs
        if job.tenant == "quiet"
    ]
