"""A scheduler and a worker that take turns, until nothing is due.

A job is dispatched and claimed when its turn has come and not before, so that a handler may
cancel the next one, a drain can stop anywhere, and an interruption has one attempt to hand
back.
"""

from time import monotonic_ns
from typing import TypeAlias, cast

from fairlead import jsontext
from fairlead.job import Claimed, Job
from fairlead.jsontext import Json
from fairlead.tasks import Tasks
from fairlead.testing.calling import Caller
from fairlead.testing.drained import Drained, Ended, Outcome
from fairlead.testing.store import Store
from fairlead_worker import outcome
from fairlead_worker.attempt import Attempt
from fairlead_worker.intake import Sorter
from fairlead_worker.outcome import Completed, Finished, HandedBack
from fairlead_worker.telling import Teller

Said: TypeAlias = tuple[Outcome, Json, str | None]
"""What became of an attempt, its result, its error."""


class Turns:
    """One drain; the desk of its attempts."""

    def __init__(self, tasks: Tasks, store: Store, caller: Caller) -> None:
        self._store = store
        self._caller = caller
        self._sorter = Sorter(tasks.handlers, self)
        self._teller = Teller(tasks.on_error)
        self._endings: list[Ended] = []
        self._passed: set[int] = set()
        self._put_off: set[int] = set()

    def run(self, jobs_max: int | None) -> Drained:
        """Take turns until nothing is due, or so many attempts have ended."""
        self._store.borrow_the_lead()
        self._store.register()
        try:
            self._store.take_back()
            while self._step() and len(self._endings) != jobs_max:
                pass
        finally:
            self._store.retire()
        return Drained(tuple(self._endings))

    def _step(self) -> bool:
        """Run the job whose turn it is, or let time pass; False when there is nothing to do."""
        job_id = self._store.following(self._passed)
        if job_id is None:
            return self._let_time_pass()
        row = self._store.take(job_id)
        if row is None:
            self._passed.add(job_id)
            self._store.borrow_the_lead()
        else:
            self._work(row)
        return True

    def _let_time_pass(self) -> bool:
        """Make pending what is due; whether anything is, and not because somebody leads now."""
        promoted = self._store.promote(self._put_off)
        if not promoted:
            self._store.borrow_the_lead()
        return promoted

    def _work(self, row: Claimed) -> None:
        found = self._sorter.sort([row])
        for attempt in found.to_run:
            self._attempt(attempt)
        for attempt in found.to_run + found.ended:
            self._endings.append(_ended(row, *self._end(attempt)))
        if found.orphans:
            self._store.drop_orphan(row)

    def _attempt(self, attempt: Attempt) -> None:
        """Run an attempt and give it its ending."""
        self._store.lend()
        attempt.started_us = monotonic_ns() // 1000
        attempt.deadline_us = attempt.started_us + int(attempt.timeout_seconds * 1e6)
        job = Job(attempt.row, attempt)
        try:
            value = self._caller.call(attempt.handler, job)
            attempt.ending = outcome.of_value(value)
        except Exception as error:  # noqa: BLE001 - a handler may raise whatever it likes
            attempt.ending = outcome.of_error(error, None, attempt.timeout_seconds)
            failure = outcome.failure(error, attempt.ending, attempt.row)
            if failure is not None:
                self._teller.tell(job, failure)
        except BaseException:
            attempt.ending = HandedBack("released", "its drain was interrupted")
            self._store.release(attempt)
            raise
        attempt.ended_us = monotonic_ns() // 1000
        if attempt.completed:
            attempt.ending = outcome.completed(attempt.ending)
        self._store.recover()

    def _end(self, attempt: Attempt) -> Said:
        """Write one ending; answer what became of the attempt."""
        ending = attempt.ending
        if isinstance(ending, Completed):
            # If the handler has committed, this holds nothing, and the record says so.
            attempt.ending = ending = ending.or_else
        if isinstance(ending, HandedBack):
            return self._hand_back(attempt, ending)
        assert ending is None or isinstance(ending, Finished)
        became = self._store.finish(attempt)
        if became == "stale":
            return self._not_held(attempt)
        if became == "locked":
            return "locked", None, None if ending is None else ending.error
        if ending is None:
            return "succeeded", None, None
        result = None if ending.result is None else jsontext.parse("result", ending.result)
        return ending.outcome, result, ending.error

    def _hand_back(self, attempt: Attempt, ending: HandedBack) -> Said:
        became = self._store.hand_back(attempt)
        if became == "stale":
            return self._not_held(attempt)
        if became == "scheduled":
            self._put_it_off(attempt, ending.delay_seconds)
            snoozed = ending.ended_as == "snoozed"
            return "snoozed" if snoozed else "retried", None, ending.error
        return cast("Outcome", became), None, ending.error

    def _not_held(self, attempt: Attempt) -> Said:
        """Tell an attempt that had lost its job from one that its handler ended by SQL."""
        on_record = self._store.on_record(attempt.row)
        if on_record is not None and on_record[0] == "retried":
            self._put_it_off(attempt, None)
        return on_record or ("stale", None, None)

    def _put_it_off(self, attempt: Attempt, delay_seconds: float | None) -> None:
        self._store.postpone(attempt.job_id)
        if delay_seconds != 0:
            self._put_off.add(attempt.job_id)

    # --- the attempts' desk -----------------------------------------------------------------

    def extend(self, attempt: Attempt, by_seconds: float) -> None:
        """Move the attempt's deadline, here and in the database; never back."""
        longer_us = monotonic_ns() // 1000 + int(by_seconds * 1e6)
        attempt.deadline_us = max(attempt.deadline_us, longer_us)
        self._store.extend(attempt, by_seconds)

    def report(self, attempt: Attempt, fraction: float, note: str) -> None:
        """Let it go: it is gone when the attempt ends."""


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
