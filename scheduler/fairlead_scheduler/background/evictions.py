"""Ask running jobs that agreed to it to stop, so that tenants without any can run.

The loop says what is needed; this reads which of the candidates agreed, chooses, and writes the
requests, fenced by the epoch. The workers read them with their renewals, which a notification
brings forward. A leader that dies in between has asked nobody; one that is deposed asks nobody.
"""

from queue import SimpleQueue
from typing import NamedTuple

from psycopg import Cursor
from psycopg.rows import args_row, scalar_row

from fairlead.db import statements
from fairlead.db.connect import Connection
from fairlead.db.statements import integers
from fairlead.runtime import log
from fairlead.runtime.wakeup import Wakeup
from fairlead_scheduler.leadership.periodic_task import PeriodicTask
from fairlead_scheduler.loop.requests import Requests, take_all
from fairlead_scheduler.metrics.registry import Metrics
from fairlead_scheduler.ordering.eviction import EvictionNeed, Victim, choose
from fairlead_scheduler.rows import Event, EvictionsRequested

_log = log.get("scheduler")
_PACKAGE = __package__ or ""
_EVERY_SECONDS = 60.0
AGAIN_SECONDS = 300.0
"""For how long a job that was asked is not asked again: it has to get on with its work."""


class EvictableAttempt(NamedTuple):
    """An attempt whose handler agreed to be asked to stop."""

    job_id: int
    token: int


class Evictions:
    """The requests of one term over one session."""

    def __init__(
        self,
        connection: Connection,
        *,
        epoch: int,
        requests: Requests,
        events: SimpleQueue[Event],
        wakeup: Wakeup,
        metrics: Metrics,
    ) -> None:
        self._epoch = epoch
        self._requests = requests
        self._events = events
        self._wakeup = wakeup
        self._metrics = metrics
        self._evictable: Cursor[EvictableAttempt] = connection.cursor(
            binary=True, row_factory=args_row(EvictableAttempt)
        )
        self._asked: Cursor[int] = connection.cursor(binary=True, row_factory=scalar_row)

    def tasks(self) -> tuple[PeriodicTask, ...]:
        """Return the task; the loop calls for it."""
        return (PeriodicTask("evict", _EVERY_SECONDS, self.evict),)

    def evict(self) -> bool:
        """Ask those to stop whom the last need of each pool calls for."""
        needs = {need.pool: need for need in take_all(self._requests.evictions)}
        for need in needs.values():
            asked = self._ask(choose(need, self._tokens(need)))
            self._events.put(EvictionsRequested(need.pool, asked))
            self._wakeup.wake()
        return False

    def _tokens(self, need: EvictionNeed) -> dict[int, int]:
        """Return the candidates that may be asked, with their tokens."""
        ids = sorted(job_id for holder in need.holders for job_id in holder.attempts)
        parameters = {"ids": integers(ids), "again_seconds": AGAIN_SECONDS}
        self._evictable.execute(statements.load(_PACKAGE, "evictable"), parameters)
        return {each.job_id: each.token for each in self._evictable.fetchall()}

    def _ask(self, victims: tuple[Victim, ...]) -> tuple[int, ...]:
        """Write the requests; return the jobs that are asked to stop."""
        if not victims:
            return ()
        by_id = {each.job_id: each for each in victims}
        ordered = [by_id[job_id] for job_id in sorted(by_id)]
        parameters = {
            "epoch": self._epoch,
            "ids": integers([each.job_id for each in ordered]),
            "tokens": integers([each.token for each in ordered]),
            "queues": [each.waiting.lane[0] for each in ordered],
            "tenants": [each.waiting.lane[1] for each in ordered],
        }
        self._asked.execute(statements.load(_PACKAGE, "evict"), parameters)
        asked = tuple(self._asked.fetchall())
        for job_id in asked:
            self._record(by_id[job_id])
        return asked

    def _record(self, victim: Victim) -> None:
        """Log and count that a job is asked to stop."""
        queue, tenant = victim.lane
        for_queue, for_tenant = victim.waiting.lane
        _log.info(
            "eviction.requested",
            job=victim.job_id,
            queue=queue,
            tenant=tenant,
            for_queue=for_queue,
            for_tenant=for_tenant,
            waited_seconds=round(victim.waiting.waited_us / 1e6, 3),
        )
        self._metrics.queues.count_eviction(queue)
