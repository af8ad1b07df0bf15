"""One term of a leader: from its take-over to its release, with its sessions and threads.

A term ends when the process is asked to stop, when another scheduler leads, or when any of its
sessions is lost: what the books say may then be wrong, and reading everything anew costs less
than finding out.
"""

import threading
from contextlib import ExitStack, closing
from queue import SimpleQueue

from fairlead import log
from fairlead.bell import Bell
from fairlead.notices import Notices
from fairlead.store import Connection
from fairlead_scheduler.calls import Requests
from fairlead_scheduler.caps import Caps
from fairlead_scheduler.chores import Chore, Hands
from fairlead_scheduler.demands import Demands
from fairlead_scheduler.fire import Schedules
from fairlead_scheduler.knowledge import Knowledge
from fairlead_scheduler.leader import Lead
from fairlead_scheduler.loop import Loop
from fairlead_scheduler.metrics import Metrics
from fairlead_scheduler.policies import Looked, Policies, look
from fairlead_scheduler.pressure import Pressure
from fairlead_scheduler.reports import Reports
from fairlead_scheduler.session import (
    connect_counter,
    connect_leader,
    connect_loop,
    connect_reader,
    connect_upkeep,
)
from fairlead_scheduler.settings import SchedulerSettings
from fairlead_scheduler.shadows import Shadows
from fairlead_scheduler.store import (
    Store,
    read_lanes,
    read_newest,
    read_queued,
    read_used,
)
from fairlead_scheduler.surveys import Surveys
from fairlead_scheduler.sweeps import Sweeps
from fairlead_scheduler.terms import Table
from fairlead_scheduler.upkeep import Upkeep
from fairlead_scheduler.views import News
from fairlead_scheduler.vitals import Vitals

_log = log.get("scheduler")
_ROUND_TRIP_US = 1000


class Term:
    """One term: opens its sessions, reads what a leader must know, runs the loop.

    Raises:
        Unreachable: a session could not be opened.
        psycopg.Error: a session was lost.
    """

    def __init__(
        self,
        lead: Lead,
        settings: SchedulerSettings,
        *,
        stop: threading.Event,
        bell: Bell,
        metrics: Metrics,
    ) -> None:
        self._lead = lead
        self._settings = settings
        self._stop = stop
        self._bell = bell
        self._metrics = metrics
        self._news: SimpleQueue[News] = SimpleQueue()
        failures = metrics.chore_failures
        self._hands = Hands(lead, bell, failed=lambda chore: failures.labels(chore).inc())
        self._requests = Requests(self._hands.call)

    def serve(self) -> None:
        """Lead until asked to stop or the lead is over.

        The lead is released first and the sessions are closed after that: whatever is still
        under way is fenced by the epoch.
        """
        settings = self._settings
        with ExitStack() as leaving:
            leaving.callback(self._lead.release)
            self._lead.keep(self._bell.ring)
            reading = leaving.enter_context(closing(connect_reader(settings, name="surveys")))
            looping = leaving.enter_context(closing(connect_loop(settings, name="loop")))
            begun = look(reading)
            loop = self._loop(looping, begin(reading, settings, begun.table))
            self._hire(leaving, reading, begun)
            leaving.callback(self._hands.join)
            leaving.callback(self._lead.release)
            _log.info("scheduler.leads", epoch=self._lead.epoch)
            self._run(loop, looping)
        _log.info("scheduler.led", epoch=self._lead.epoch, ended=self._lead.reason)

    def _run(self, loop: Loop, connection: Connection) -> None:
        notices = Notices(connection)
        while not self._stop.is_set() and not self._lead.over.is_set():
            told = notices.wait(self._bell, loop.step().total_seconds())
            if told:
                loop.notified(told)
        self._lead.end("asked to stop")

    def _loop(self, connection: Connection, knowledge: Knowledge) -> Loop:
        if self._settings.database_direct:
            connection.execute(b"listen fairlead_scheduler")
        return Loop(
            Store(connection, self._settings, epoch=self._lead.epoch),
            self._lead,
            self._settings,
            knowledge=knowledge,
            requests=self._requests,
            news=self._news,
            metrics=self._metrics,
        )

    def _hire(self, leaving: ExitStack, reading: Connection, begun: Looked) -> None:
        """Start the hands beside the loop, each with a session of its own."""
        settings, epoch = self._settings, self._lead.epoch
        sweeping = leaving.enter_context(closing(connect_leader(settings, name="sweeps")))
        keeping = leaving.enter_context(closing(connect_upkeep(settings, name="upkeep")))
        sweeps = Sweeps(
            sweeping,
            settings,
            epoch=epoch,
            requests=self._requests,
            news=self._news,
            bell=self._bell,
            metrics=self._metrics,
        )
        counting = leaving.enter_context(closing(connect_counter(settings, name="backlog")))
        pressure = Pressure(
            counting, epoch=epoch, caps=begun.caps or Caps(), metrics=self._metrics
        )
        policies = Policies(
            sweeping,
            epoch=epoch,
            begun=begun,
            disabled=self._requests.disabled,
            news=self._news,
            bell=self._bell,
            metrics=self._metrics,
            cap=lambda caps: self._cap(pressure, caps),
        )
        reports = Reports(sweeping, epoch=epoch, requests=self._requests)
        firing = leaving.enter_context(closing(connect_leader(settings, name="cron")))
        schedules = Schedules(firing, settings, epoch=epoch, metrics=self._metrics)
        upkeep = Upkeep(keeping, settings, epoch=epoch)
        self._hands.hire(
            "sweeps", sweeping, (*policies.chores(), *reports.chores(), *sweeps.chores())
        )
        shadows = Shadows(
            keeping, settings, epoch=epoch, policies=policies, metrics=self._metrics
        )
        leaving.callback(shadows.stop)
        self._hands.hire("cron", firing, schedules.chores())
        self._hands.hire("surveys", reading, self._readings(reading, policies))
        self._hands.hire("upkeep", keeping, (*upkeep.chores(), *shadows.chores()))
        demands = Demands(counting, epoch=epoch, requests=self._requests)
        self._hands.hire("backlog", counting, (*demands.chores(), *pressure.chores()))

    def _readings(self, reading: Connection, policies: Policies) -> tuple[Chore, ...]:
        """Return what is read beside the loop and written nowhere."""
        settings, metrics = self._settings, self._metrics
        surveys = Surveys(reading, settings, news=self._news, bell=self._bell, metrics=metrics)
        vitals = Vitals(
            reading, metrics.database, pools=lambda: policies.pools() or (settings.pool,)
        )
        return (*surveys.chores(), *vitals.chores())

    def _cap(self, pressure: Pressure, caps: Caps) -> None:
        """Have the lanes that have a backlog limit counted at once."""
        pressure.rule(caps)
        self._hands.call("backlog")


def begin(
    reading: Connection, settings: SchedulerSettings, table: Table | None = None
) -> Knowledge:
    """Read everything that a new leader must know; call it after its take-over has committed.

    It may take longer than the lease where there are very many lanes, so it is no business of
    the loop's session. The newest id comes before the lanes, so that nothing falls between them
    and the tail.
    """
    newest_id = read_newest(reading)
    knowledge = Knowledge(
        pool=settings.pool,
        table=table,
        queued=read_queued(reading),
        used=read_used(reading),
        newest_id=newest_id,
        queued_max=settings.queued_max,
        round_us=int(settings.tick_seconds * 1e6) + _ROUND_TRIP_US,
        tail_max=settings.sweep_max,
    )
    knowledge.survey(read_lanes(reading))
    return knowledge
