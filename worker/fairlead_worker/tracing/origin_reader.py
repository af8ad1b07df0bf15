"""Read where the traces of claimed jobs begin; see `spans`."""

from collections.abc import Mapping, Sequence
from time import monotonic

import psycopg

from fairlead.db.connect import Connection
from fairlead.db.error_text import one_line
from fairlead.runtime import log
from fairlead.runtime.log_throttle import LogThrottle
from fairlead_worker.attempts import attempt_store
from fairlead_worker.attempts.attempt import Attempt
from fairlead_worker.attempts.trace import FormerAttempt, Origin


class OriginReader:
    """Gives attempts their origins. Used by the claimer's thread alone."""

    def __init__(self) -> None:
        self._log, self._throttle = log.get("worker.traces"), LogThrottle()

    def assign(self, connection: Connection, attempts: Sequence[Attempt]) -> None:
        """Read where these attempts come from; when that fails, they run all the same."""
        if not attempts:
            return
        try:
            found = _read(connection, attempts)
        except psycopg.Error as error:
            if self._throttle.due(type(error).__name__, monotonic()):
                self._log.warning("origins.read_failed", reason=one_line(error))
            return
        for attempt in attempts:
            attempt.origin = found.get(attempt.job_id)


def _read(connection: Connection, attempts: Sequence[Attempt]) -> Mapping[int, Origin]:
    rows = attempt_store.origins(connection, [attempt.key for attempt in attempts])
    return {
        row.job_id: Origin(
            row.created_us,
            # A worker in another language may have ended an attempt without its token.
            None
            if row.token is None or row.attempt is None or row.ended_as is None
            else FormerAttempt(row.token, row.attempt, row.ended_as),
        )
        for row in rows
    }
