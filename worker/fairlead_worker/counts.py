"""Count what became of attempts, and tell the parent once a second.

A start is counted when the attempt is seen running or, if it was over before that, with its
end.
"""

from collections.abc import Callable, Iterable, Mapping

from fairlead import log
from fairlead_worker import series
from fairlead_worker.attempt import Attempt
from fairlead_worker.outcome import Finished, HandedBack
from fairlead_worker.series import OTHER
from fairlead_worker.tally import Kind, Tally
from fairlead_worker.wire import Growth

_FOR_GOOD = frozenset({"failed", "cancelled"})
_FAILURES = frozenset({"failed", "crashed"})


class Counts:
    """A child's counts. Used by the finisher's thread alone; the tally may be shared.

    Args:
        tally: where it counts.
        tell: sends what grew to the parent.
    """

    def __init__(self, tally: Tally, tell: Callable[[Growth], None]) -> None:
        self._tally = tally
        self._tell = tell
        self._log = log.get("worker.finish")

    def finished(self, attempts: Iterable[Attempt]) -> None:
        """Count attempts whose jobs ended for good with them."""
        with self._tally.lock:
            for attempt in attempts:
                ending = attempt.ending
                how = ending.outcome if isinstance(ending, Finished) else "succeeded"
                kind = self._ran(attempt)
                kind.ended[how] += 1
                kind.finished[how] += 1
                if how == "failed":
                    self._tell_failure(attempt, "failed")

    def handed_back(self, attempts: Iterable[Attempt], became: Mapping[int, str]) -> None:
        """Count attempts that ended without a word on their jobs, and those that ended them."""
        with self._tally.lock:
            for attempt in attempts:
                ending, verdict = attempt.ending, became.get(attempt.token, "locked")
                if isinstance(ending, HandedBack) and verdict not in {"locked", "stale"}:
                    kind = self._ran(attempt)
                    how = ending.ended_as
                    kind.ended[how] += 1
                    if verdict in _FOR_GOOD:
                        kind.finished[verdict] += 1
                    if how in _FAILURES:
                        self._tell_failure(attempt, verdict)

    def wrote(self, endings: int, took_seconds: float) -> None:
        """Count a batch of endings that the database has answered."""
        self._tally.observe(series.COMPLETION_DURATION, took_seconds)
        self._tally.observe(series.COMPLETION_BATCH, endings)

    def stale(self, attempts: Iterable[Attempt]) -> None:
        """Count endings that changed nothing, since somebody else has the job."""
        for attempt in attempts:
            self._tally.count(series.STALE_WRITES)
            self._log.warning(
                "attempt.stale", job=attempt.job_id, token=attempt.token, kind=attempt.row.kind
            )

    def close_second(self, running: Iterable[Attempt | None]) -> None:
        """Count what has started since the last second, and send what grew."""
        with self._tally.lock:
            for attempt in running:
                if attempt is not None and not attempt.counted:
                    self._started(attempt)
        growth = self._tally.take()
        if growth is not None:
            self._tell(growth)

    def _tell_failure(self, attempt: Attempt, became: str) -> None:
        """Log the first line of an error; the database has the rest."""
        ending, trace = attempt.ending, attempt.trace
        error = ending.error if isinstance(ending, Finished | HandedBack) else None
        self._log.warning(
            "attempt.failed",
            job=attempt.job_id,
            kind=attempt.row.kind,
            queue=attempt.row.queue,
            tenant=attempt.row.tenant,
            attempt=attempt.row.attempt,
            became=became,
            error=(error or "").split("\n", 1)[0],
            **({} if trace is None else {"trace_id": trace.trace_id, "span_id": trace.span_id}),
        )

    def _started(self, attempt: Attempt) -> Kind:
        # What has no handler has no kind of its own: series must stay few.
        kind = self._tally.kind(attempt.row.queue, attempt.handler.kind or OTHER)
        if not attempt.counted and attempt.started_us:
            attempt.counted = True
            kind.started += 1
            kind.wait.observe(attempt.waited_seconds)
        return kind

    def _ran(self, attempt: Attempt) -> Kind:
        kind = self._started(attempt)
        if attempt.started_us:
            kind.run.observe((attempt.ended_us - attempt.started_us) / 1e6)
        return kind
