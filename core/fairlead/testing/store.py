"""A drain's doors to the database: the scheduler's statements, the worker's, its own few.

They join whatever transaction the connection is in, and commit where it is in none, as
`fairlead.enqueue` does. Nothing here depends on how the application reads its rows.
"""

from datetime import datetime
from typing import Literal, TypeAlias, cast

import psycopg
from psycopg.pq import TransactionStatus
from psycopg.rows import tuple_row

from fairlead import jsontext, sql
from fairlead.job import Claimed
from fairlead.store import Connection
from fairlead.testing.drained import Outcome
from fairlead_worker import child_store
from fairlead_worker.attempt import Attempt

POOL = "default"
NAME = "fairlead.testing"

_TIMEOUT_DEFAULT = "600 s"  # the scheduler's defaults
_TIMEOUT_MAX = "3600 s"
_LEASE_SECONDS = 3600
_SWEEP_MAX = 1000

Left: TypeAlias = tuple[int, int | None]
"""A job that nobody works on, and the token of the attempt that holds it."""


class Store:
    """The statements of one drain.

    Args:
        connection: the application's own, or one of the drain's.
        queues: what to drain; None is every queue.
        now: jobs that are due by then are due.
    """

    def __init__(
        self,
        connection: psycopg.Connection[object],
        *,
        queues: list[str] | None,
        now: datetime | None,
    ) -> None:
        self._connection = connection
        idle = connection.info.transaction_status == TransactionStatus.IDLE
        self._in_transaction = not (connection.autocommit and idle)
        self._queues = queues
        self._now = now
        self._ahead_seconds = 0.0
        self._epoch = self._floor = self._worker_id = 0
        self._lock_timeout = "0"

    @property
    def _rows(self) -> Connection:
        """Something that executes and answers tuples.

        The worker's doors ask no more of a connection, and the application's own may answer
        anything.
        """
        return cast("Connection", psycopg.Cursor(self._connection, row_factory=tuple_row))

    # --- around a drain ---------------------------------------------------------------------

    def borrow_the_lead(self) -> None:
        """Take the leader's epoch; a repeat finds out whether it still holds.

        Raises:
            RuntimeError: a scheduler or a worker is at work here, the transaction is not READ
                COMMITTED, or the database is not migrated.
        """
        values = {"pool": POOL, "name": NAME}
        try:
            row = self._rows.execute(sql.load("fairlead", "testing_lead"), values).fetchone()
        except psycopg.errors.UndefinedTable as error:
            raise RuntimeError(
                "the database has no schema fairlead: run fairlead migrate"
            ) from error
        assert row is not None
        epoch, floor, holder, led, worker, isolation, lock_timeout = row
        if led:
            raise RuntimeError(
                f"drain acts as the scheduler, and scheduler {holder!r} leads in this "
                "database: stop it first"
            )
        if worker is not None:
            raise RuntimeError(
                f"drain acts as the worker, and worker {worker!r} is at work in this database: "
                "stop it first, or wait for the end of its lease if it is dead"
            )
        if isolation != "read committed":
            raise RuntimeError(
                f"drain needs a READ COMMITTED transaction, and this one is "
                f"{str(isolation).upper()}: set the connection's isolation_level"
            )
        self._epoch, self._floor = cast("int", epoch), cast("int", floor)
        self._lock_timeout = str(lock_timeout)

    def register(self) -> None:
        """Be a worker."""
        values = {
            "lease_seconds": _LEASE_SECONDS,
            "slots": 1,
            "slots_full": 1,
            "name": NAME,
            "pool": POOL,
            "host": "",
            "pod_uid": None,
            "pod_name": None,
            "version": "",
        }
        row = self._rows.execute(sql.load("fairlead_worker", "register"), values).fetchone()
        assert row is not None
        self._worker_id = cast("int", row[0])

    def retire(self) -> None:
        """Be a dead worker; a connection that is lost, or failed, is left as it is."""
        if self._serves():
            statement = sql.load("fairlead_worker", "deregister")
            self._rows.execute(statement, {"workers": sql.integers([self._worker_id])})

    def take_back(self) -> None:
        """Make pending, unpunished, what a fleet that is gone has left in the queue."""
        left = sql.load("fairlead", "testing_left")
        found = self._rows.execute(left, {"pool": POOL, "limit": _SWEEP_MAX}).fetchall()
        rows = cast("list[Left]", found)
        held = [row for row in rows if row[1] is not None]
        returning = {
            "ids": sql.integers(job_id for job_id, _ in held),
            "tokens": sql.integers(token for _, token in held),
            "ended_as": ["returned" for _ in held],
            "errors": [None for _ in held],
            "delays": [None for _ in held],
        }
        self._rows.execute(sql.load("fairlead_worker", "hand_back"), returning)
        self._recall([job_id for job_id, _ in rows])

    def _recall(self, ids: list[int]) -> None:
        values = {"epoch": self._epoch, "ids": sql.integers(ids)}
        self._rows.execute(sql.load("fairlead_scheduler", "recall"), values)

    # --- one job after another --------------------------------------------------------------

    def following(self, passed: set[int]) -> int | None:
        """Return the job whose turn it is, and None when nothing is pending."""
        values = {"queues": self._queues, "passed": sql.integers(sorted(passed))}
        row = self._rows.execute(sql.load("fairlead", "testing_next"), values).fetchone()
        return None if row is None else cast("int", row[0])

    def promote(self, put_off: set[int]) -> bool:
        """Make pending what is due, or is the next to fall due; whether anything was.

        While time does not pass, that is nothing which this drain has put off: a back-off takes
        a random time, and whether it is over already must not decide a test.
        """
        values = {
            "epoch": self._epoch,
            "now": self._now,
            "put_off": sql.integers(sorted(put_off if self._now is None else ())),
            "queues": self._queues,
            "ahead_seconds": self._ahead_seconds,
            "limit": _SWEEP_MAX,
        }
        row = self._rows.execute(sql.load("fairlead", "testing_promote"), values).fetchone()
        assert row is not None
        promoted, ahead_seconds = row
        self._ahead_seconds = max(0.0, cast("float", ahead_seconds))
        return bool(promoted)

    def take(self, job_id: int) -> Claimed | None:
        """Dispatch and claim a job; None when somebody else holds it.

        What is claimed may be another row that was queued, such as one whose job is gone: then
        this job is pending again.
        """
        values = {
            "epoch": self._epoch,
            "pool": POOL,
            "band": 0,
            "floor": self._floor,  # as it is, so that nothing waits for its row
            "timeout_default": _TIMEOUT_DEFAULT,
            "timeout_max": _TIMEOUT_MAX,
            "ids": sql.integers([job_id]),
            "vtags": sql.integers([self._floor]),
            "estimates_us": sql.integers([0]),
            "seen_us": sql.integers([0]),
            "used": None,
        }
        dispatch = sql.load("fairlead_scheduler", "dispatch")
        if not self._rows.execute(dispatch, values).fetchall():
            return None
        who = child_store.Claiming(self._worker_id, POOL)
        claimed = child_store.claim(self._rows, who, limit=1, below_floor=True)
        if claimed and claimed[0].job_id != job_id:
            self._recall([job_id])
        return claimed[0] if claimed else None

    def extend(self, attempt: Attempt, by_seconds: float) -> None:
        """Move an attempt's deadline, unless its handler's transaction has failed."""
        if self._serves():
            child_store.extend(self._rows, [(attempt, by_seconds)])

    def finish(self, attempt: Attempt) -> Literal["ended", "stale", "locked"]:
        """End the job for good, unless somebody else holds it; wait for nobody."""
        keys = {
            "ids": sql.integers([attempt.job_id]),
            "tokens": sql.integers([attempt.token]),
        }
        with self._connection.transaction():
            free = self._rows.execute(sql.load("fairlead_worker", "finish_free"), keys)
            found = free.fetchone()
            if found is None or not found[1]:
                return "stale" if found is None else "locked"
            child_store.finish(self._rows, [attempt])
            patience = {"lock_timeout": self._lock_timeout}
            self._rows.execute(sql.load("fairlead", "testing_patience"), patience)
        return "ended"

    def hand_back(self, attempt: Attempt) -> str:
        """End the attempt and not its job; what became of it."""
        return child_store.hand_back(self._rows, [attempt])[attempt.token]

    def release(self, attempt: Attempt) -> None:
        """Hand back an attempt that was interrupted, if the connection still serves."""
        self.recover()
        if self._serves():
            self.hand_back(attempt)

    def drop_orphan(self, row: Claimed) -> None:
        """Forget a claimed row whose job is gone."""
        child_store.drop_orphans(self._rows, [(row.job_id, row.token)])

    def on_record(self, row: Claimed) -> tuple[Outcome, jsontext.Json, str | None] | None:
        """Return how an attempt has ended by its handler's own doing, if it has."""
        values = {"job_id": row.job_id, "token": row.token}
        found = self._rows.execute(sql.load("fairlead", "testing_ending"), values).fetchone()
        if found is None:
            return None
        outcome, result, error = cast("tuple[Outcome, str | None, str | None]", found)
        return outcome, None if result is None else jsontext.parse("result", result), error

    def postpone(self, job_id: int) -> None:
        """Let a job that was put off wait from the instant that the drain has reached."""
        if self._ahead_seconds:
            values = {"job_id": job_id, "seconds": self._ahead_seconds}
            self._rows.execute(sql.load("fairlead", "testing_postpone"), values)

    # --- the handler's part in the transaction ----------------------------------------------

    def lend(self) -> None:
        """Get ready for a handler that may use the same connection, and may fail in it.

        The savepoint is left where it is afterwards: to release it would release those that
        the application's own session has opened meanwhile and believes in.
        """
        if self._in_transaction:
            self._rows.execute(b"SAVEPOINT fairlead_handler")

    def recover(self) -> None:
        """Undo what a handler did in a transaction that it has left failed."""
        if self._in_transaction and self._failed():
            self._rows.execute(b"ROLLBACK TO SAVEPOINT fairlead_handler")

    def _failed(self) -> bool:
        return self._connection.info.transaction_status == TransactionStatus.INERROR

    def _serves(self) -> bool:
        return not (self._connection.closed or self._failed())
