"""One term of a leader: from its take-over to its release, with its sessions and threads.

A term ends when the process is asked to stop, when another scheduler leads, or when any of its
sessions is lost: what the books say may then be wrong, and reading everything anew costs less
than finding out.
"""

import threading
from contextlib import ExitStack, closing
from queue import SimpleQueue

from fairlead import log
from fairlead.store import Connection
from fairlead_scheduler.knowledge import Knowledge
from fairlead_scheduler.leader import Lead
from fairlead_scheduler.loop import Loop
from fairlead_scheduler.metrics import Metrics
from fairlead_scheduler.news import Bell, News
from fairlead_scheduler.session import connect_leader
from fairlead_scheduler.settings import SchedulerSettings
from fairlead_scheduler.store import Store

_log = log.get("scheduler")
_ROUND_TRIP_US = 1000


def serve_term(
    lead: Lead,
    settings: SchedulerSettings,
    *,
    stop: threading.Event,
    bell: Bell,
    metrics: Metrics,
) -> None:
    """Lead until asked to stop or the lead is over; release it in every case.

    Raises:
        Unreachable: a session could not be opened.
        psycopg.Error: a session was lost.
    """
    with ExitStack() as leaving:
        leaving.callback(lead.release)
        lead.keep(bell.ring)
        connection = leaving.enter_context(
            closing(connect_leader(settings, name="scheduler loop"))
        )
        if settings.database_direct:
            connection.execute(b"listen fairlead_scheduler")
        store = Store(connection, settings, epoch=lead.epoch)
        news: SimpleQueue[News] = SimpleQueue()
        loop = Loop(
            store, lead, settings, knowledge=begin(store, settings), news=news, metrics=metrics
        )
        _log.info("scheduler.leads", epoch=lead.epoch)
        while not stop.is_set() and not lead.over.is_set():
            bell.wait(loop.step().total_seconds(), connection.fileno())
            if notified(connection):
                loop.notified()
        lead.end("asked to stop")
    _log.info("scheduler.led", epoch=lead.epoch, ended=lead.reason)


def begin(store: Store, settings: SchedulerSettings) -> Knowledge:
    """Read everything that a new leader must know; call it after its take-over has committed.

    The newest id comes before the lanes, so that nothing falls between them and the tail.
    """
    newest_id = store.newest()
    knowledge = Knowledge(
        pool=settings.pool,
        queued=store.queued(),
        newest_id=newest_id,
        queued_max=settings.queued_max,
        round_us=int(settings.tick_seconds * 1e6) + _ROUND_TRIP_US,
    )
    knowledge.survey(store.lanes())
    return knowledge


def notified(connection: Connection) -> bool:
    """Take the notifications that have arrived; whether there was one.

    Raises:
        psycopg.OperationalError: the session is lost.
    """
    connection.pgconn.consume_input()
    found = False
    while connection.pgconn.notifies() is not None:
        found = True
    return found
