"""The loop of a drain: dispatch, claim and run one job after another until none is due.

A job is dispatched and claimed only when it is next, so that a handler may cancel the next job,
a drain can stop after any job, and an interruption has one attempt to hand back.
"""

from collections.abc import Mapping
from time import monotonic_ns
from typing import TypeAlias, cast

from fairlead import jsontext
from fairlead.job import Claimed, Job
from fairlead.jsontext import Json
from fairlead.tasks import Handler, OnError
from fairlead.testing.caller import Caller
from fairlead.testing.drain_result import Drained, Ended, Outcome
from fairlead.testing.drain_store import Store
from fairlead_worker.attempts import outcome
from fairlead_worker.attempts.attempt import Attempt
from fairlead_worker.attempts.error_callback import ErrorCallback
from fairlead_worker.attempts.handlers_backoff import delayed
from fairlead_worker.attempts.outcome import Finished, FinishedByHandler, HandedBack
from fairlead_worker.child.intake import ClaimSorter

EndingValues: TypeAlias = tuple[Outcome, Json, str | None]
"""Outcome, result and error of an attempt."""


class DrainLoop:
    """One drain; its attempts report to it."""

    def __init__(
        self,
        handlers: Mapping[str, Handler],
        on_error: OnError | None,
        store: Store,
        caller: Caller,
    ) -> None:
        self._store = store
        self._caller = caller
        self._sorter = ClaimSorter(handlers, self)
        self._error_callback = ErrorCallback(on_error)
        self._handlers = handlers
        self._endings: list[Ended] = []
        self._passed: set[int] = set()
        self._put_off: set[int] = set()

    def run(self, jobs_max: int | None) -> Drained:
        """Run jobs until none is due, or so many attempts have ended."""
        self._store.use_leader_epoch()
        self._store.register(self._handlers)
        try:
            self._store.reclaim_leftovers()
            while self._step() and len(self._endings) != jobs_max:
                pass
        finally:
            self._store.deregister()
        return Drained(tuple(self._endings))

    def _step(self) -> bool:
        """Run the next job, promote due jobs, or complete batches; False: nothing to do."""
        job_id = self._store.next_job(self._passed)
        if job_id is None:
            return self._promote() or self._store.settle_batches()
        row = self._store.take(job_id)
        if row is None:
            self._passed.add(job_id)
            self._store.use_leader_epoch()
        else:
            self._run_claimed(row)
        return True

    def _promote(self) -> bool:
        """Promote due jobs; return whether any was, and check that no scheduler leads now."""
        promoted = self._store.promote(self._put_off)
        if not promoted:
            self._store.use_leader_epoch()
        return promoted

    def _run_claimed(self, row: Claimed) -> None:
        found = self._sorter.sort([row])
        for attempt in found.to_run:
            self._attempt(attempt)
        for attempt in found.to_run + found.ended:
            self._endings.append(_ended(row, *self._end(attempt)))
        if found.orphans:
            self._store.drop_orphan(row)

    def _attempt(self, attempt: Attempt) -> None:
        """Run an attempt and give it its ending."""
        self._store.set_savepoint()
        attempt.started_us = monotonic_ns() // 1000
        attempt.deadline_us = attempt.started_us + int(attempt.timeout_seconds * 1e6)
        job = Job(attempt.row, attempt)
        try:
            value = self._caller.call(attempt.handler, job)
            attempt.ending = outcome.from_value(value)
        except Exception as error:  # noqa: BLE001 - a handler may raise whatever it likes
            attempt.ending = outcome.from_error(error, None, attempt.timeout_seconds)
            failure = outcome.failure(
                error,
                attempt.ending,
                attempts_left=attempt.row.attempt < attempt.max_attempts,
            )
            if failure is not None:
                self._error_callback.report(job, failure)
        except BaseException:
            attempt.ending = HandedBack("released", "its drain was interrupted")
            self._store.release(attempt)
            raise
        attempt.ended_us = monotonic_ns() // 1000
        if attempt.ending is not None:
            attempt.ending = delayed(attempt.ending, attempt.handler, attempt.row.attempt)
        if attempt.finished_by_handler:
            attempt.ending = outcome.finished_by_handler(attempt.ending)
        self._store.roll_back_if_failed()

    def _end(self, attempt: Attempt) -> EndingValues:
        """Write one ending; return how the attempt ended."""
        ending = attempt.ending
        if isinstance(ending, FinishedByHandler):
            # If the handler has committed, the attempt holds no job any more.
            attempt.ending = ending = ending.or_else
        if isinstance(ending, HandedBack):
            return self._hand_back(attempt, ending)
        assert ending is None or isinstance(ending, Finished)
        became = self._store.finish(attempt)
        if became == "stale":
            return self._lost_or_recorded(attempt)
        if became == "locked":
            return "locked", None, None if ending is None else ending.error
        if ending is None:
            return "succeeded", None, None
        result = None if ending.result is None else jsontext.parse("result", ending.result)
        return ending.outcome, result, ending.error

    def _hand_back(self, attempt: Attempt, ending: HandedBack) -> EndingValues:
        became = self._store.hand_back(attempt)
        if ending.ended_as == "unhandled":
            self._passed.add(attempt.job_id)  # or it would be claimed again and again
            return "unhandled", None, ending.error
        if became == "stale":
            return self._lost_or_recorded(attempt)
        if became == "scheduled":
            self._postpone(attempt, ending.delay_seconds)
            snoozed = ending.ended_as == "snoozed"
            return "snoozed" if snoozed else "retried", None, ending.error
        return cast("Outcome", became), None, ending.error

    def _lost_or_recorded(self, attempt: Attempt) -> EndingValues:
        """Return the ending that the handler wrote by SQL, or `stale` if the job was lost."""
        recorded_ending = self._store.recorded_ending(attempt.row)
        if recorded_ending is not None and recorded_ending[0] == "retried":
            self._postpone(attempt, None)
        return recorded_ending or ("stale", None, None)

    def _postpone(self, attempt: Attempt, delay_seconds: float | None) -> None:
        self._store.postpone(attempt.job_id)
        if delay_seconds != 0:
            self._put_off.add(attempt.job_id)

    # --- called by attempts -----------------------------------------------------------------

    def extend(self, attempt: Attempt, by_seconds: float) -> None:
        """Move the attempt's deadline, here and in the database; never back."""
        longer_us = monotonic_ns() // 1000 + int(by_seconds * 1e6)
        attempt.deadline_us = max(attempt.deadline_us, longer_us)
        self._store.extend(attempt, by_seconds)

    def report(self, attempt: Attempt, fraction: float, note: str) -> None:
        """Do nothing: progress is deleted when the attempt ends."""

    def checkpoint(self, attempt: Attempt, text: str) -> None:
        """Store what the job goes on from, at once."""
        self._store.checkpoint(attempt, text)


def _ended(row: Claimed, outcome: Outcome, result: Json, error: str | None) -> Ended:
    return Ended(
        id=row.job_id,
        kind=row.kind,
        queue=row.queue,
        tenant=row.tenant,
        attempt=row.attempt,
        outcome=outcome,
        result=result,
        error=error,
    )
