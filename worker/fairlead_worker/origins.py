"""What the trace of a claimed job goes by; see `spans`."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from time import monotonic

import psycopg

from fairlead import log
from fairlead.reminder import Reminder
from fairlead.store import Connection
from fairlead_worker import child_store
from fairlead_worker.attempt import Attempt


@dataclass(frozen=True, slots=True)
class Former:
    """The last attempt that ended without ending its job, and how."""

    token: int
    attempt: int
    ended_as: str


@dataclass(frozen=True, slots=True)
class Origin:
    """When a job was inserted, in microseconds since 1970, and the attempt before this one."""

    created_us: int
    former: Former | None


class Origins:
    """Gives attempts their origins. Used by the claimer's thread alone."""

    def __init__(self) -> None:
        self._log, self._reminder = log.get("worker.traces"), Reminder()

    def give(self, connection: Connection, attempts: Sequence[Attempt]) -> None:
        """Read where these attempts come from; when that fails, they run all the same."""
        if not attempts:
            return
        try:
            found = _read(connection, attempts)
        except psycopg.Error as error:
            if self._reminder.due(type(error).__name__, monotonic()):
                self._log.warning("origins.unread", why=" ".join(str(error).split()))
            return
        for attempt in attempts:
            attempt.origin = found.get(attempt.job_id)


def _read(connection: Connection, attempts: Sequence[Attempt]) -> Mapping[int, Origin]:
    rows = child_store.origins(connection, [attempt.job_id for attempt in attempts])
    return {
        row.job_id: Origin(
            row.created_us,
            # A worker in another language may have ended an attempt without its token.
            None
            if row.token is None or row.attempt is None or row.ended_as is None
            else Former(row.token, row.attempt, row.ended_as),
        )
        for row in rows
    }
