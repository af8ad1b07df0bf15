"""One term of a leader: from its take-over to its release, with its threads.

A term ends when the process is asked to stop, when another scheduler leads, or when any of its
sessions is lost: the in-memory state may then be wrong, and reading everything anew costs less
than finding out. The sessions that are left serve the next term.
"""

import threading
from contextlib import ExitStack
from functools import partial
from queue import SimpleQueue

from fairlead.db.connect import Connection
from fairlead.db.notifications import Notifications
from fairlead.runtime import log
from fairlead.runtime.wakeup import Wakeup
from fairlead_scheduler.admission.publisher import BacklogPublisher
from fairlead_scheduler.background.batches import Batches
from fairlead_scheduler.background.database_health import DatabaseHealth
from fairlead_scheduler.background.demand_store import DemandStore
from fairlead_scheduler.background.ending_counts import EndingCounts
from fairlead_scheduler.background.evictions import Evictions
from fairlead_scheduler.background.long_reads import LongReads
from fairlead_scheduler.background.periodic import PeriodicThreads
from fairlead_scheduler.background.policy_watch import PolicyWatch, WatchResult, read_newer
from fairlead_scheduler.background.report_store import ReportStore
from fairlead_scheduler.background.retention import Retention
from fairlead_scheduler.background.sweeps import Sweeps
from fairlead_scheduler.cron.fires_ahead import FiresAhead
from fairlead_scheduler.cron.runner import ScheduleRunner
from fairlead_scheduler.leadership.election import LeaderLease
from fairlead_scheduler.leadership.periodic_task import PeriodicTask
from fairlead_scheduler.leadership.term_sessions import TermSessions
from fairlead_scheduler.loop.loop import Loop
from fairlead_scheduler.loop.requests import Requests
from fairlead_scheduler.loop.state import LeaderState
from fairlead_scheduler.loop.store import (
    LoopStore,
    read_lanes,
    read_newest,
    read_queued,
    read_used,
    renumber,
)
from fairlead_scheduler.metrics.registry import Metrics
from fairlead_scheduler.pending.values import HeadsSettings
from fairlead_scheduler.policy.backlog_limits import BacklogLimits
from fairlead_scheduler.policy.compiled import CompiledPolicy
from fairlead_scheduler.rows import Event
from fairlead_scheduler.settings import SchedulerSettings
from fairlead_scheduler.simulation.shadow_runner import ShadowRunner

_log = log.get("scheduler")
_ROUND_TRIP_US = 1000


class Term:
    """One term: reads the state that the leader needs, starts the threads, runs the loop.

    Raises:
        psycopg.Error: a session was lost.
    """

    def __init__(
        self,
        lease: LeaderLease,
        sessions: TermSessions,
        settings: SchedulerSettings,
        *,
        stop: threading.Event,
        wakeup: Wakeup,
        metrics: Metrics,
    ) -> None:
        self._lease = lease
        self._sessions = sessions
        self._settings = settings
        self._stop = stop
        self._wakeup = wakeup
        self._metrics = metrics
        self._events: SimpleQueue[Event] = SimpleQueue()
        failures = metrics.task_failures
        self._threads = PeriodicThreads(
            lease, wakeup, failed=lambda task: failures.labels(task).inc()
        )
        self._requests = Requests(self._threads.call)

    def serve(self) -> None:
        """Lead until asked to stop or the lease is lost.

        The lease is released first: whatever is still under way is fenced by the epoch. No
        thread uses a session afterwards; that of a thread which hangs is closed.
        """
        sessions = self._sessions
        with ExitStack() as leaving, ExitStack() as releasing:
            releasing.callback(self._lease.release)
            self._lease.keep_renewing(self._wakeup.wake)
            for renumbered in renumber(sessions.loop, epoch=self._lease.epoch):
                _log.info("order_tags.renumbered", **renumbered._asdict())
            initial = read_newer(sessions.scans)
            state = read_initial_state(sessions.scans, self._settings, initial.table)
            loop = self._loop(sessions.loop, state)
            self._start_threads(leaving, initial)
            _log.info("leadership.acquired", epoch=self._lease.epoch)
            self._run(loop, sessions.loop)
        _log.info("leadership.ended", epoch=self._lease.epoch, reason=self._lease.reason)

    def _run(self, loop: Loop, connection: Connection) -> None:
        notices = Notifications(connection)
        while not self._stop.is_set() and not self._lease.over.is_set():
            channels = notices.wait(self._wakeup, loop.step().total_seconds())
            if channels:
                loop.notified(channels)
        self._lease.end("asked to stop")

    def _loop(self, connection: Connection, state: LeaderState) -> Loop:
        if self._settings.database_direct:
            connection.execute(b"listen fairlead_scheduler")
        return Loop(
            LoopStore(connection, self._settings, epoch=self._lease.epoch),
            self._lease,
            self._settings,
            state=state,
            requests=self._requests,
            events=self._events,
            metrics=self._metrics,
        )

    def _start_threads(self, leaving: ExitStack, initial: WatchResult) -> None:
        """Start the background threads, each with a session of its own."""
        settings, epoch, metrics = self._settings, self._lease.epoch, self._metrics
        kept = self._sessions
        limits = initial.limits or BacklogLimits()
        publisher = BacklogPublisher(kept.backlog, epoch=epoch, limits=limits, metrics=metrics)
        policy_watch = self._policy_watch(kept.sweeps, initial, publisher)
        schedules = ScheduleRunner(
            kept.cron, settings, epoch=epoch, metrics=metrics, ahead=self._fires_ahead()
        )
        batches = Batches(kept.cron, settings, epoch=epoch, requests=self._requests)
        retention = Retention(kept.retention, settings, epoch=epoch)
        shadow_runner = ShadowRunner(
            kept.retention, settings, epoch=epoch, policies=policy_watch, metrics=metrics
        )
        demand_store = DemandStore(kept.backlog, epoch=epoch, requests=self._requests)
        leaving.callback(shadow_runner.stop)
        leaving.callback(self._threads.join)
        start = self._threads.start
        start("sweeps", kept.sweeps, (*policy_watch.tasks(), *self._sweep_tasks(kept.sweeps)))
        start("cron", kept.cron, (*schedules.tasks(), *batches.tasks()))
        start("scans", kept.scans, self._read_tasks(kept.scans, policy_watch))
        start("retention", kept.retention, (*retention.tasks(), *shadow_runner.tasks()))
        start("backlog", kept.backlog, (*demand_store.tasks(), *publisher.tasks()))

    def _fires_ahead(self) -> FiresAhead:
        requests, settings = self._requests, self._settings
        return FiresAhead(
            wanted=lambda: requests.is_demand_published,
            publish=requests.set_fires_ahead,
            fires_per_second=settings.tenant_fires_per_second,
            interval_seconds=settings.schedule_interval_seconds,
        )

    def _policy_watch(
        self, connection: Connection, initial: WatchResult, publisher: BacklogPublisher
    ) -> PolicyWatch:
        return PolicyWatch(
            connection,
            epoch=self._lease.epoch,
            initial=initial,
            disabled=self._requests.disabled,
            events=self._events,
            wakeup=self._wakeup,
            metrics=self._metrics,
            apply_backlog_limits=partial(self._apply_backlog_limits, publisher),
        )

    def _sweep_tasks(self, connection: Connection) -> tuple[PeriodicTask, ...]:
        """Return the tasks that share the sweeps' session with the policy watch."""
        epoch, requests = self._lease.epoch, self._requests
        reports = ReportStore(connection, epoch=epoch, requests=requests)
        sweeps = Sweeps(
            connection,
            self._settings,
            epoch=epoch,
            requests=requests,
            events=self._events,
            wakeup=self._wakeup,
            metrics=self._metrics,
        )
        evictions = Evictions(
            connection,
            epoch=epoch,
            requests=requests,
            events=self._events,
            wakeup=self._wakeup,
            metrics=self._metrics,
        )
        # A recall comes before the evictions that depend on it.
        return (*reports.tasks(), *sweeps.tasks(), *evictions.tasks())

    def _read_tasks(
        self, read_session: Connection, policy_watch: PolicyWatch
    ) -> tuple[PeriodicTask, ...]:
        """Return the tasks of the thread that only reads."""
        settings, metrics = self._settings, self._metrics
        long_reads = LongReads(
            read_session, settings, events=self._events, wakeup=self._wakeup, metrics=metrics
        )
        database_health = DatabaseHealth(
            read_session,
            metrics.database,
            pools=lambda: policy_watch.pools() or (settings.pool,),
        )
        ending_counts = EndingCounts(read_session, self._requests, metrics.endings)
        return (*ending_counts.tasks(), *long_reads.tasks(), *database_health.tasks())

    def _apply_backlog_limits(self, publisher: BacklogPublisher, limits: BacklogLimits) -> None:
        """Apply new backlog limits, and count the lanes that have one at once."""
        publisher.set_limits(limits)
        self._threads.call("backlog")


def read_initial_state(
    read_session: Connection, settings: SchedulerSettings, table: CompiledPolicy | None = None
) -> LeaderState:
    """Read the state that a new leader starts from; call it after its take-over has committed.

    With very many lanes it may take longer than the lease, so it does not use the loop's
    session. The newest id is read before the lanes, so that no job falls between them and the
    tail.
    """
    newest_id = read_newest(read_session)
    state = LeaderState(
        pool=settings.pool,
        table=table,
        queued=read_queued(read_session),
        used=read_used(read_session),
        newest_id=newest_id,
        queued_max=settings.queued_max,
        round_us=int(settings.tick_seconds * 1e6) + _ROUND_TRIP_US,
        tail_max=settings.sweep_max,
        heads=HeadsSettings(tenant_streams_max=settings.lanes_max),
    )
    state.take_scan(read_lanes(read_session))
    return state
