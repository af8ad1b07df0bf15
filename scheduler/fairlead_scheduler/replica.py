"""A scheduler process: waits for the database, the schema and the lease; leads; repeats."""

import os
import random
import secrets
import socket
import threading
from contextlib import closing
from functools import partial
from itertools import cycle

import psycopg

from fairlead import access, ownership
from fairlead.db.connect import Unreachable, connect_with_backoff
from fairlead.db.error_text import one_line
from fairlead.db.migrate import schema_state
from fairlead.db.notifications import Notifications
from fairlead.db.server_identifier import server_identifier
from fairlead.metrics import tenant_labels
from fairlead.runtime import log
from fairlead.runtime.wakeup import Wakeup
from fairlead.service import WaitLog, await_ownership, await_schema
from fairlead_scheduler.leadership.election import LeaderLease, NoLeaderPossible, acquire
from fairlead_scheduler.leadership.sessions import connect_leader
from fairlead_scheduler.leadership.term_sessions import KeptSessions, TermSessions
from fairlead_scheduler.metrics.registry import Metrics
from fairlead_scheduler.settings import SchedulerSettings
from fairlead_scheduler.term import Term

_log = log.get("scheduler")
_STANDBY_SECONDS = 0.5
_RECONNECT_SECONDS_MAX = 0.5
_REFUSED_SECONDS_MAX = 5.0


class Scheduler:
    """One replica.

    Args:
        settings: Where and how.
        stop: Set it, and wake `wakeup`, to have `serve` release the lease and return.
        wakeup: Ends every rest; a signal handler may wake it.
        metrics: What it measures.
    """

    def __init__(
        self,
        settings: SchedulerSettings,
        *,
        stop: threading.Event,
        wakeup: Wakeup,
        metrics: Metrics,
    ) -> None:
        self.ready = threading.Event()
        self._settings = settings
        self._stop = stop
        self._wakeup = wakeup
        self._metrics = metrics
        self._waiting = WaitLog("scheduler")
        self._kept = KeptSessions(settings)
        self._holder = f"{socket.gethostname()}:{os.getpid()}:{secrets.token_hex(4)}"

    def serve(self) -> None:
        """Lead or stand by until asked to stop.

        After an error that the database answers with, such as a row that cannot be read, it
        rests longer each time: a standby may have more luck, and the log stays readable.

        Raises:
            RoleMissing: the login has not the scheduler's role.
            SchemaTooNew: the schema needs newer code.
        """
        with closing(self._kept):
            self._serve_terms()

    def _serve_terms(self) -> None:
        longest_seconds = _RECONNECT_SECONDS_MAX
        while not self._stop.is_set():
            refused = False
            try:
                if not self._kept.is_empty or self._await_database():
                    self._stand_by()
            except (psycopg.Error, Unreachable) as error:
                # What is no fault of the connection will fail again.
                refused = not isinstance(error, psycopg.OperationalError | Unreachable)
                _log.warning("scheduler.disconnected", reason=one_line(error))
            self.ready.clear()
            if not self._stop.is_set():
                self._kept.settle()
            if refused:
                longest_seconds = min(longest_seconds * 2, _REFUSED_SECONDS_MAX)
                self._stop.wait(random.uniform(longest_seconds / 2, longest_seconds))
            else:
                longest_seconds = _RECONNECT_SECONDS_MAX
                self._stop.wait(random.uniform(0, longest_seconds))

    def _await_database(self) -> bool:
        """Wait for a database that this release may serve, over one session of its own.

        The others are opened after it is closed. False: asked to stop.
        """
        connection = connect_with_backoff(
            partial(connect_leader, self._settings, name="lead"), self._stop, self._waiting
        )
        if connection is None:
            return False
        with closing(connection):
            fits = await_schema(connection, access.SCHEDULER, self._stop, self._waiting)
            return fits and await_ownership(
                connection, self._settings.release, self._stop, self._waiting
            )

    def _stand_by(self) -> None:
        """Open the sessions that a leader lacks, and lead when nobody else does.

        All are given up where this process may no longer lead.
        """
        sessions = connect_with_backoff(self._kept.complete, self._stop, self._waiting)
        if sessions is None:
            return
        if not schema_state(sessions.lead).fits:
            self._kept.close()
            return
        if self._settings.metrics_tenants != "names":
            key = tenant_labels.key_of(server_identifier(sessions.lead))
            self._metrics.fairness.hash_tenants(key)
        self.ready.set()
        lease = self._await_lease(sessions)
        if lease is not None:
            self._lead(lease, sessions)
        else:
            self._kept.close()

    def _lead(self, lease: LeaderLease, sessions: TermSessions) -> None:
        self._metrics.begin()
        try:
            Term(
                lease,
                sessions,
                self._settings,
                stop=self._stop,
                wakeup=self._wakeup,
                metrics=self._metrics,
            ).serve()
        finally:
            self._metrics.end()

    def _await_lease(self, sessions: TermSessions) -> LeaderLease | None:
        """Stand by until the lease is acquired; None: asked to stop, or no longer the owner.

        Meanwhile the other sessions are used in turn: one that was cut is to be noticed before
        it is needed.
        """
        connection, *others = sessions
        others_in_turn = cycle(others)
        if self._settings.database_direct:
            connection.execute(b"listen fairlead_leader")
        notices = Notifications(connection, per_second=1 / _STANDBY_SECONDS)
        while not self._stop.is_set():
            try:
                lease = acquire(connection, self._settings, holder=self._holder)
            except NoLeaderPossible as error:
                self._waiting(str(error))
                lease = None
            if lease is not None:
                return lease
            if ownership.own(connection, self._settings.release) != self._settings.release:
                break
            notices.wait(self._wakeup, _STANDBY_SECONDS)
            next(others_in_turn).execute(b"select", prepare=False)
        return None
