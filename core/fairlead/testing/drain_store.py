"""The statements of a drain: the scheduler's, the worker's, and a few of its own.

They join the connection's transaction if there is one, and commit otherwise, as
`fairlead.enqueue` does. Nothing here depends on the row factory of the application.
"""

from collections.abc import Mapping
from datetime import datetime
from typing import Literal, TypeAlias, cast

import psycopg
from psycopg.pq import TransactionStatus
from psycopg.rows import tuple_row

from fairlead import jsontext
from fairlead.db import statements
from fairlead.db.connect import Connection
from fairlead.job import Claimed
from fairlead.tasks import Handler
from fairlead.testing.drain_result import Outcome
from fairlead_worker.attempts import attempt_store
from fairlead_worker.attempts.attempt import Attempt

POOL = "default"
NAME = "fairlead.testing"

_TIMEOUT_DEFAULT = "600 s"  # the scheduler's defaults
_TIMEOUT_MAX = "3600 s"
_LEASE_SECONDS = 3600
_EPOCH_LEASE_SECONDS = 0.1  # the shortest; it is released at once
_SWEEP_MAX = 1000
_BATCH_DAYS = 36_500  # no batch that is open is given up

Leftover: TypeAlias = tuple[int, int | None]
"""A job that no live worker runs, and the token of the attempt that holds it."""


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
        """A cursor that returns tuples, whatever the row factory of the connection is.

        The worker's functions need no more of a connection than that.
        """
        return cast("Connection", psycopg.Cursor(self._connection, row_factory=tuple_row))

    # --- around a drain ---------------------------------------------------------------------

    def use_leader_epoch(self) -> None:
        """Take the leader's epoch; a repeat finds out whether it still holds.

        Raises:
            RuntimeError: a scheduler or a worker is at work here, the transaction is not READ
                COMMITTED, or the database is not migrated.
        """
        values = {"pool": POOL, "name": NAME}
        try:
            row = self._rows.execute(
                statements.load("fairlead.testing", "leader_state"), values
            ).fetchone()
        except psycopg.errors.UndefinedTable as error:
            raise RuntimeError(
                "the database has no schema fairlead: run fairlead migrate"
            ) from error
        assert row is not None
        epoch, floor, holder, led, worker, isolation, lock_timeout, release, in_force = row
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
        self._epoch = cast("int", epoch if in_force else self._begin_epoch(release))
        self._floor = cast("int", floor)
        self._lock_timeout = str(lock_timeout)

    def _begin_epoch(self, release: object) -> object:
        """Begin an epoch, where nobody has led since the server was promoted."""
        values = {"holder": NAME, "lease_seconds": _EPOCH_LEASE_SECONDS, "release": release}
        acquire = statements.load("fairlead_scheduler.leadership", "acquire")
        (row,) = self._rows.execute(acquire, values).fetchall()
        give_up = statements.load("fairlead_scheduler.leadership", "release")
        self._rows.execute(give_up, {"epoch": row[0]})
        return row[0]

    def register(self, handlers: Mapping[str, Handler]) -> None:
        """Register as a worker, with the kinds that it has handlers for."""
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
            "releases_slots": False,
        }
        row = self._rows.execute(
            statements.load("fairlead_worker.parent", "register"), values
        ).fetchone()
        assert row is not None
        self._worker_id = cast("int", row[0])
        announced = {
            "worker": self._worker_id,
            "kinds": [*handlers],
            "max_attempts": statements.integers(
                [each.max_attempts for each in handlers.values()]
            ),
            "at_most_once": [each.at_most_once for each in handlers.values()],
        }
        announce = statements.load("fairlead_worker.parent", "announce_kinds")
        self._rows.execute(announce, announced)

    def deregister(self) -> None:
        """Deregister the worker; a connection that is lost, or failed, is left as it is."""
        if self._is_usable():
            statement = statements.load("fairlead_worker.parent", "deregister")
            self._rows.execute(statement, {"workers": statements.integers([self._worker_id])})

    def reclaim_leftovers(self) -> None:
        """Make jobs pending that a stopped fleet left in `work_queue`, at no attempt."""
        left = statements.load("fairlead.testing", "leftovers")
        found = self._rows.execute(left, {"pool": POOL, "limit": _SWEEP_MAX}).fetchall()
        rows = cast("list[Leftover]", found)
        held = [row for row in rows if row[1] is not None]
        returning = {
            "ids": statements.integers(job_id for job_id, _ in held),
            "tokens": statements.integers(token for _, token in held),
            "ended_as": ["returned" for _ in held],
            "errors": [None for _ in held],
            "delays": [None for _ in held],
        }
        self._rows.execute(statements.load("fairlead_worker.attempts", "hand_back"), returning)
        self._recall([job_id for job_id, _ in rows])

    def _recall(self, ids: list[int]) -> None:
        values = {"epoch": self._epoch, "ids": statements.integers(ids)}
        self._rows.execute(statements.load("fairlead_scheduler.background", "recall"), values)

    # --- one job after another --------------------------------------------------------------

    def next_job(self, passed: set[int]) -> int | None:
        """Return the next job, and None when nothing is pending."""
        values = {"queues": self._queues, "passed": statements.integers(sorted(passed))}
        row = self._rows.execute(
            statements.load("fairlead.testing", "next_job"), values
        ).fetchone()
        return None if row is None else cast("int", row[0])

    def promote(self, put_off: set[int]) -> bool:
        """Promote jobs that are due, or the next to fall due; return whether there were any.

        Without `now`, jobs that this drain has postponed are left out: a backoff takes a random
        time, and a test must not depend on whether it is over.
        """
        values = {
            "epoch": self._epoch,
            "now": self._now,
            "put_off": statements.integers(sorted(put_off if self._now is None else ())),
            "queues": self._queues,
            "ahead_seconds": self._ahead_seconds,
            "limit": _SWEEP_MAX,
        }
        row = self._rows.execute(
            statements.load("fairlead.testing", "promote"), values
        ).fetchone()
        assert row is not None
        promoted, ahead_seconds = row
        self._ahead_seconds = max(0.0, cast("float", ahead_seconds))
        return bool(promoted)

    def settle_batches(self) -> bool:
        """Count ended jobs of batches; return whether a batch is over, or has more to count."""
        values = {
            "epoch": self._epoch,
            "after_id": 0,
            "batches": _SWEEP_MAX,
            "limit": _SWEEP_MAX,
            "days": _BATCH_DAYS,
        }
        row = self._rows.execute(
            statements.load("fairlead_scheduler.background", "settle_batches"), values
        ).fetchone()
        assert row is not None
        completed, _, more, _ = row
        return bool(completed or more)

    def take(self, job_id: int) -> Claimed | None:
        """Dispatch and claim a job; None: another session holds it.

        The claim may return another queued row, such as one whose job is gone: then this job is
        pending again.
        """
        values = {
            "epoch": self._epoch,
            "pool": POOL,
            "band": 0,
            "floor": self._floor,  # as it is, so that nothing waits for its row
            "timeout_default": _TIMEOUT_DEFAULT,
            "timeout_max": _TIMEOUT_MAX,
            "ids": statements.integers([job_id]),
            "vtags": statements.integers([self._floor]),
            "estimates_us": statements.integers([0]),
            "seen_us": statements.integers([0]),
            "used": None,
            "kinds": None,
            "counted": None,
            "workers": None,
        }
        dispatch = statements.load("fairlead_scheduler.loop", "dispatch")
        if not self._rows.execute(dispatch, values).fetchall():
            return None
        who = attempt_store.ClaimRequest(self._worker_id, POOL)
        claimed = attempt_store.claim(self._rows, who, limit=1, below_floor=True)
        if claimed and claimed[0].job_id != job_id:
            self._recall([job_id])
        return claimed[0] if claimed else None

    def extend(self, attempt: Attempt, by_seconds: float) -> None:
        """Move an attempt's deadline, unless its handler's transaction has failed."""
        if self._is_usable():
            attempt_store.extend(self._rows, [(attempt, by_seconds)])

    def checkpoint(self, attempt: Attempt, text: str) -> None:
        """Store what a job goes on from, unless its handler's transaction has failed."""
        if self._is_usable():
            attempt_store.store_checkpoints(self._rows, [(attempt, text)])

    def finish(self, attempt: Attempt) -> Literal["ended", "stale", "locked"]:
        """Finish the job, unless another session holds it; wait for no lock."""
        keys = {
            "ids": statements.integers([attempt.job_id]),
            "tokens": statements.integers([attempt.token]),
        }
        with self._connection.transaction():
            free = self._rows.execute(
                statements.load("fairlead_worker.attempts", "finish_free"), keys
            )
            found = free.fetchone()
            if found is None or not found[1]:
                return "stale" if found is None else "locked"
            attempt_store.finish(self._rows, [attempt])
            values = {"lock_timeout": self._lock_timeout}
            self._rows.execute(
                statements.load("fairlead.testing", "restore_lock_timeout"), values
            )
        return "ended"

    def hand_back(self, attempt: Attempt) -> str:
        """End the attempt and not its job; return the job's new state."""
        return attempt_store.hand_back(self._rows, [attempt])[attempt.token]

    def release(self, attempt: Attempt) -> None:
        """Hand back an attempt that was interrupted, if the connection is still usable."""
        self.roll_back_if_failed()
        if self._is_usable():
            self.hand_back(attempt)

    def drop_orphan(self, row: Claimed) -> None:
        """Delete a claimed row whose job is gone."""
        attempt_store.release_orphans(self._rows, [(row.job_id, row.token)])

    def recorded_ending(self, row: Claimed) -> tuple[Outcome, jsontext.Json, str | None] | None:
        """Return how the handler itself ended the attempt, if it did."""
        values = {"job_id": row.job_id, "token": row.token}
        found = self._rows.execute(
            statements.load("fairlead.testing", "ending"), values
        ).fetchone()
        if found is None:
            return None
        outcome, result, error = cast("tuple[Outcome, str | None, str | None]", found)
        return outcome, None if result is None else jsontext.parse("result", result), error

    def postpone(self, job_id: int) -> None:
        """Count the delay of a postponed job from the instant that the drain has reached."""
        if self._ahead_seconds:
            values = {"job_id": job_id, "seconds": self._ahead_seconds}
            self._rows.execute(statements.load("fairlead.testing", "postpone"), values)

    # --- the handler in the same transaction ------------------------------------------------

    def set_savepoint(self) -> None:
        """Set a savepoint for a handler that may use the same connection, and fail in it.

        The savepoint is never released: that would also release the savepoints that the
        application has set since.
        """
        if self._in_transaction:
            self._rows.execute(b"SAVEPOINT fairlead_handler")

    def roll_back_if_failed(self) -> None:
        """Undo what a handler did in a transaction that it has left failed."""
        if self._in_transaction and self._failed():
            self._rows.execute(b"ROLLBACK TO SAVEPOINT fairlead_handler")

    def _failed(self) -> bool:
        return self._connection.info.transaction_status == TransactionStatus.INERROR

    def _is_usable(self) -> bool:
        return not (self._connection.closed or self._failed())
