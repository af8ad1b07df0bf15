"""Count how attempts started and ended, and send the counts to the parent once a second.

A start is counted when the attempt is seen running or, if it ended before that, with its end.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from heapq import nlargest
from operator import itemgetter

from fairlead.runtime import log
from fairlead_worker.attempts.attempt import Attempt
from fairlead_worker.attempts.outcome import Finished, HandedBack
from fairlead_worker.attempts.traceback_text import places
from fairlead_worker.ipc.messages import AttemptsEnded, MetricsGrowth
from fairlead_worker.ipc.source import Source
from fairlead_worker.metrics import series
from fairlead_worker.metrics.counters import Counters, KindCounts
from fairlead_worker.metrics.series import OTHER

_FINISHING = frozenset({"failed", "cancelled"})
_FAILURES = frozenset({"failed", "crashed"})
SOURCES_MAX = 500
"""How many sources one message names: those of which most ended."""


class AttemptMetrics:
    """Counts a child's attempts. Used by the finisher's thread alone; `counters` may be shared.

    Args:
        counters: where it counts.
        send: sends what grew to the parent.
    """

    def __init__(
        self, counters: Counters, send: Callable[[MetricsGrowth | AttemptsEnded], None]
    ) -> None:
        self._counters = counters
        self._send = send
        self._ended = defaultdict[Source, int](int)
        self._log = log.get("worker.finish")

    def finished(self, attempts: Iterable[Attempt]) -> None:
        """Count attempts that finished their jobs."""
        with self._counters.lock:
            for attempt in attempts:
                ending = attempt.ending
                how = ending.outcome if isinstance(ending, Finished) else "succeeded"
                kind = self._ran(attempt)
                kind.ended[how] += 1
                kind.finished[how] += 1
                if how == "failed":
                    self._log_failure(attempt, "failed")

    def handed_back(self, attempts: Iterable[Attempt], states: Mapping[int, str]) -> None:
        """Count attempts whose jobs went back to the queue, or ended there for good."""
        with self._counters.lock:
            for attempt in attempts:
                ending, state = attempt.ending, states.get(attempt.token, "locked")
                if isinstance(ending, HandedBack) and state not in {"locked", "stale"}:
                    kind = self._ran(attempt)
                    how = ending.ended_as
                    kind.ended[how] += 1
                    if state in _FINISHING:
                        kind.finished[state] += 1
                    if how in _FAILURES:
                        self._log_failure(attempt, state)

    def batch_stored(self, endings: int, took_seconds: float) -> None:
        """Count a batch of endings that the database has answered."""
        self._counters.observe(series.FINISH_DURATION, took_seconds)
        self._counters.observe(series.FINISH_BATCH, endings)

    def stale(self, attempts: Iterable[Attempt]) -> None:
        """Count endings that changed nothing, since the attempt had lost its job."""
        for attempt in attempts:
            self._counters.count(series.STALE_WRITES)
            self._log.warning(
                "attempt.stale", job=attempt.job_id, token=attempt.token, kind=attempt.row.kind
            )

    def flush(self, running: Iterable[Attempt | None]) -> None:
        """Count what has started since the last second, and send what grew."""
        with self._counters.lock:
            for attempt in running:
                if attempt is not None and not attempt.start_counted:
                    self._started(attempt)
        growth = self._counters.take()
        if self._ended:
            most = nlargest(SOURCES_MAX, self._ended.items(), key=itemgetter(1))
            self._send(AttemptsEnded(tuple(most)))
            self._ended.clear()
        if growth is not None:
            self._send(growth)

    def _log_failure(self, attempt: Attempt, state: str) -> None:
        """Log the first line of an error and its frames; the database has the messages."""
        ending, trace = attempt.ending, attempt.trace
        error = (ending.error if isinstance(ending, Finished | HandedBack) else None) or ""
        frames = places(error)
        self._log.warning(
            "attempt.failed",
            job=attempt.job_id,
            kind=attempt.row.kind,
            queue=attempt.row.queue,
            tenant=attempt.row.tenant,
            attempt=attempt.row.attempt,
            state=state,
            error=error.split("\n", 1)[0],
            **({"traceback": frames} if frames else {}),
            **({} if trace is None else {"trace_id": trace.trace_id, "span_id": trace.span_id}),
        )

    def _started(self, attempt: Attempt) -> KindCounts:
        # What has no handler has no kind of its own: series must stay few.
        kind = self._counters.kind(attempt.row.queue, attempt.handler.kind or OTHER)
        if not attempt.start_counted and attempt.started_us:
            attempt.start_counted = True
            kind.started += 1
            kind.wait.observe(attempt.waited_seconds)
        return kind

    def _ran(self, attempt: Attempt) -> KindCounts:
        kind = self._started(attempt)
        if attempt.started_us:
            kind.run.observe((attempt.ended_us - attempt.started_us) / 1e6)
            row = attempt.row
            self._ended[row.kind, row.tenant] += 1
        return kind
