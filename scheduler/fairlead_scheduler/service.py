"""A scheduler process: waits for database, schema and lead, and leads in turn."""

import os
import random
import secrets
import socket
import threading
from contextlib import closing

import psycopg

from fairlead import log
from fairlead.bell import Bell
from fairlead.notices import Notices
from fairlead.service import Waiting, await_schema
from fairlead.store import Connection, Unreachable, connect_patiently
from fairlead_scheduler.leader import Lead, take_over
from fairlead_scheduler.metrics import Metrics
from fairlead_scheduler.session import connect_leader
from fairlead_scheduler.settings import SchedulerSettings
from fairlead_scheduler.term import Term

_log = log.get("scheduler")
_STANDBY_SECONDS = 0.5
_RECONNECT_SECONDS_MAX = 0.5


class Scheduler:
    """One replica.

    Args:
        settings: Where and how.
        stop: Set it, and ring the bell, to have `serve` release the lead and return.
        bell: Ends every rest; a signal handler may ring it.
        metrics: What it measures.
    """

    def __init__(
        self,
        settings: SchedulerSettings,
        *,
        stop: threading.Event,
        bell: Bell,
        metrics: Metrics,
    ) -> None:
        self.ready = threading.Event()
        self._settings = settings
        self._stop = stop
        self._bell = bell
        self._metrics = metrics
        self._waiting = Waiting("scheduler")
        self._holder = f"{socket.gethostname()}:{os.getpid()}:{secrets.token_hex(4)}"

    def serve(self) -> None:
        """Lead or stand by until asked to stop.

        Raises:
            SchemaTooNew: the schema needs newer code.
        """
        while not self._stop.is_set():
            connection = connect_patiently(self._connect, self._stop, self._waiting)
            if connection is None:
                break
            try:
                with closing(connection):
                    self._serve_over(connection)
            except (psycopg.Error, Unreachable) as error:
                reason = " ".join(str(error).split()) or type(error).__name__
                _log.warning("scheduler.disconnected", reason=reason)
            self._stop.wait(random.uniform(0, _RECONNECT_SECONDS_MAX))
        self.ready.clear()

    def _connect(self) -> Connection:
        return connect_leader(self._settings, name="lead")

    def _serve_over(self, connection: Connection) -> None:
        if not await_schema(connection, self._stop, self._waiting):
            return
        self.ready.set()
        lead = self._await_lead(connection)
        if lead is None:
            return
        self._metrics.begin()
        try:
            Term(
                lead, self._settings, stop=self._stop, bell=self._bell, metrics=self._metrics
            ).serve()
        finally:
            self._metrics.end()

    def _await_lead(self, connection: Connection) -> Lead | None:
        """Stand by until nobody leads; None when asked to stop first."""
        if self._settings.database_direct:
            connection.execute(b"listen fairlead_leader")
        notices = Notices(connection)
        while not self._stop.is_set():
            lead = take_over(connection, self._settings, holder=self._holder)
            if lead is not None:
                return lead
            notices.wait(self._bell, _STANDBY_SECONDS)
        return None
