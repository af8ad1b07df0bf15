"""The spans of attempts, in the terms of OpenTelemetry's conventions for messaging.

    process QUEUE    the run: a child of the span that the job's headers name, and linked to it
      wait QUEUE     before it, from when the job could run
      settle QUEUE   after it, until its ending was stored

A retry is another child of that span, linked to the attempt before it. A job whose headers name
no span has a trace of its own, for all its attempts. Nothing is stored for that: the id of a
trace or of a run's span is a digest of the job and the attempt's token, so that a retry knows
its former attempt's id, wherever and whenever that ran.

Whatever fails here is logged, and changes nothing for the attempt. This module needs the extra
`otel`.
"""

import json
import threading
import traceback
from collections.abc import Callable, Iterable, Mapping
from functools import wraps
from hashlib import blake2b
from time import monotonic, monotonic_ns, time_ns
from typing import Concatenate, ParamSpec, cast

from opentelemetry.context import Context, attach
from opentelemetry.sdk.trace import Tracer as SdkTracer
from opentelemetry.sdk.trace.id_generator import IdGenerator
from opentelemetry.trace import (
    Link,
    SpanContext,
    SpanKind,
    Status,
    StatusCode,
    TraceFlags,
    Tracer,
    TracerProvider,
    get_current_span,
    set_span_in_context,
)
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from fairlead import tracecontext
from fairlead.job import Claimed
from fairlead.runtime import log
from fairlead.runtime.log_throttle import LogThrottle
from fairlead_worker.attempts import outcome
from fairlead_worker.attempts.attempt import Attempt
from fairlead_worker.attempts.outcome import Failure
from fairlead_worker.attempts.trace import Origin, Trace
from fairlead_worker.attempts.traceback_text import message_of

SYSTEM = "fairlead"
_OWN = f"messaging.{SYSTEM}"
KIND, TENANT, ATTEMPT, ENDED_AS = (
    f"{_OWN}.{name}" for name in ("kind", "tenant", "attempt", "ended_as")
)
ERROR_TYPE = "error.type"
_W3C = TraceContextTextMapPropagator()
_HEADERS = (tracecontext.TRACEPARENT, tracecontext.TRACESTATE)
_ID_BYTES, _TRACE_ID_BYTES = 8, 16
_FRAMES_CHARACTERS_MAX = 16_384

P = ParamSpec("P")


class SpanIds(IdGenerator):
    """Draws the ids of spans as usual, except for a span whose ids were preset.

    Args:
        usual: draws all others.
    """

    def __init__(self, usual: IdGenerator) -> None:
        self._usual = usual
        self._next = threading.local()

    def preset(self, trace_id: int, span_id: int) -> None:
        """Set the ids of this thread's next span, and of its trace if that begins with it."""
        self._next.trace_id, self._next.span_id = trace_id, span_id

    def forget(self) -> None:
        """Preset nothing more in this thread."""
        self._next.trace_id = self._next.span_id = None

    def generate_span_id(self) -> int:
        """Return the next span's id."""
        preset: int | None = getattr(self._next, "span_id", None)
        return self._usual.generate_span_id() if preset is None else preset

    def generate_trace_id(self) -> int:
        """Return the next trace's id."""
        preset: int | None = getattr(self._next, "trace_id", None)
        return self._usual.generate_trace_id() if preset is None else preset

    def is_trace_id_random(self) -> bool:
        """Return True: samplers may use it, since a digest's bits are spread as evenly."""
        return True


def _never_raises(
    method: "Callable[Concatenate[Spans, P], None]",
) -> "Callable[Concatenate[Spans, P], None]":
    """Have a method log what it raises: an application's span processors may raise anything."""

    @wraps(method)
    def guarded(self: "Spans", /, *args: P.args, **kwargs: P.kwargs) -> None:
        try:
            method(self, *args, **kwargs)
        except Exception as error:  # noqa: BLE001 - a trace is not worth an attempt
            self.log_error(error)

    return guarded


class Spans:
    """Makes the spans of attempts. Used by every thread that runs handlers, and the finisher's.

    Args:
        provider: where spans go; shut down by `close`.
        pool: the pool whose jobs are run.
    """

    def __init__(self, provider: TracerProvider, pool: str) -> None:
        self._provider = provider
        self._pool = pool
        self._tracer = provider.get_tracer("fairlead_worker")
        self._ids = _ids_of(self._tracer)
        self._log, self._throttle = log.get("worker.traces"), LogThrottle()

    # --- the run ----------------------------------------------------------------------------

    @_never_raises
    def begin(self, attempt: Attempt) -> None:
        """Begin the span of a run that has just started."""
        row, origin = attempt.row, attempt.origin
        context = parent_of(row.headers)
        parent = get_current_span(context).get_span_context()
        links = [Link(parent)] if parent.is_valid else []
        if self._ids is not None and origin is not None:
            trace_id = parent.trace_id if parent.is_valid else trace_id_of(row.job_id, origin)
            links += _to_former(trace_id, row.job_id, origin)
            self._ids.preset(trace_id, span_id_of(trace_id, row.job_id, row.token, origin))
        try:
            span = self._tracer.start_span(
                f"process {row.queue}",
                context,
                SpanKind.CONSUMER,
                {**_attributes(row, "process"), "messaging.consumer.group.name": self._pool},
                links,
                _epoch_ns(attempt.started_us),
            )
        finally:
            if self._ids is not None:
                self._ids.forget()
        called = span.get_span_context()
        attempt.trace = Trace(span, f"{called.trace_id:032x}", f"{called.span_id:016x}")

    @_never_raises
    def enter(self, attempt: Attempt) -> None:
        """Make it the current span of the context in which the handler runs."""
        if attempt.trace is not None:
            attach(set_span_in_context(attempt.trace.span))

    @_never_raises
    def resume(self, headers: Mapping[str, str]) -> None:
        """Make another process's span current here: the one that these headers carry."""
        attach(_W3C.extract(headers, Context()))

    @_never_raises
    def failed(self, attempt: Attempt, failure: Failure) -> None:
        """Record what the handler raised."""
        if attempt.trace is not None:
            error = failure.error
            attempt.trace.span.set_attribute(ERROR_TYPE, type(error).__qualname__)
            attempt.trace.span.record_exception(error)

    @staticmethod
    def raised(failure: Failure) -> dict[str, str]:
        """Return a failure's exception as attributes, for a span in another process."""
        error = failure.error
        frames = "".join(traceback.format_exception(error))
        return {
            "exception.type": type(error).__qualname__,
            "exception.message": message_of(error),
            "exception.stacktrace": frames[-_FRAMES_CHARACTERS_MAX:],
        }

    @_never_raises
    def end(self, attempt: Attempt) -> None:
        """End it: the handler has ended, and the attempt has its ending."""
        if attempt.trace is None:
            return
        span, raised = attempt.trace.span, attempt.trace.raised
        ended = outcome.trace_outcome(attempt.ending)
        span.set_attribute(ENDED_AS, ended.ended_as)
        if ended.failed:
            span.set_status(Status(StatusCode.ERROR, (ended.error or "").partition("\n")[0]))
        if raised is not None:
            span.set_attribute(ERROR_TYPE, raised["exception.type"])
            span.add_event("exception", raised)
        span.end(_epoch_ns(attempt.ended_us))

    # --- before and after it ----------------------------------------------------------------

    def stored(self, attempts: Iterable[Attempt]) -> None:
        """Make the spans of their waits, and of the endings that have just been stored."""
        now_ns = time_ns()
        for attempt in attempts:
            trace = attempt.trace
            if trace is not None and trace.span.get_span_context().trace_flags.sampled:
                self._surround(attempt, set_span_in_context(trace.span, Context()), now_ns)

    @_never_raises
    def _surround(self, attempt: Attempt, context: Context, now_ns: int) -> None:
        row, began_ns = attempt.row, _epoch_ns(attempt.started_us)
        waits = self._tracer.start_span(
            f"wait {row.queue}",
            context,
            SpanKind.INTERNAL,
            _attributes(row, "wait"),
            start_time=began_ns - int(max(0.0, attempt.waited_seconds) * 1e9),
        )
        waits.end(began_ns)
        if isinstance(attempt.ending, outcome.JobLost):
            return
        settles = self._tracer.start_span(
            f"settle {row.queue}",
            context,
            SpanKind.CLIENT,
            _attributes(row, "settle"),
            start_time=_epoch_ns(attempt.ended_us),
        )
        if attempt.stale:
            settles.set_status(Status(StatusCode.ERROR, "the attempt had lost its job"))
        settles.end(now_ns)

    # --- the end ----------------------------------------------------------------------------

    def close(self, within_seconds: float) -> None:
        """Send what is left, for so long at most; then this process may end. Call it once."""
        last = threading.Thread(target=self._shut_down, name="traces", daemon=True)
        last.start()
        last.join(within_seconds)
        if last.is_alive():
            self._log.warning("traces.cut_off", within_seconds=within_seconds)

    @_never_raises
    def _shut_down(self) -> None:
        shut_down: Callable[[], object] | None = getattr(self._provider, "shutdown", None)
        if (
            shut_down is not None
        ):  # the interface has no shutdown, only the SDK's providers have
            shut_down()

    def log_error(self, error: Exception) -> None:
        """Log that something failed, throttled."""
        why = f"{type(error).__qualname__}: {error}"
        if self._throttle.due(why, monotonic()):
            self._log.warning("traces.failed", reason=why)


def parent_of(headers: str | None) -> Context:
    """Return the context that a job's headers carry; an empty one where they carry none."""
    if headers is None or tracecontext.TRACEPARENT not in headers:
        return Context()
    parsed: object = json.loads(headers)
    found = cast("dict[str, object]", parsed) if isinstance(parsed, dict) else {}
    # Any client may have written anything there.
    wanted = ((name, found.get(name)) for name in _HEADERS)
    carrier = {name: value for name, value in wanted if isinstance(value, str)}
    return _W3C.extract(carrier, Context())


def trace_id_of(job_id: int, origin: Origin) -> int:
    """Return the trace id of a job whose headers name none."""
    return _digest(_TRACE_ID_BYTES, origin.created_us, job_id)


def span_id_of(trace_id: int, job_id: int, token: int, origin: Origin) -> int:
    """Return the id of a run's span."""
    return _digest(_ID_BYTES, trace_id, origin.created_us, job_id, token)


def _digest(size: int, *numbers: int) -> int:
    whole = b"".join(number.to_bytes(_TRACE_ID_BYTES, "big") for number in numbers)
    return int.from_bytes(blake2b(whole, digest_size=size).digest(), "big") or 1


def _to_former(trace_id: int, job_id: int, origin: Origin) -> list[Link]:
    former = origin.former
    if former is None:
        return []
    span_id = span_id_of(trace_id, job_id, former.token, origin)
    flags = TraceFlags(TraceFlags.SAMPLED)
    context = SpanContext(trace_id, span_id, is_remote=True, trace_flags=flags)
    return [Link(context, {ATTEMPT: former.attempt, ENDED_AS: former.ended_as})]


def _ids_of(tracer: Tracer) -> SpanIds | None:
    """Return what sets a tracer's ids from now on; None for one that is not the SDK's."""
    if not isinstance(tracer, SdkTracer):
        return None
    ids = SpanIds(tracer.id_generator)
    tracer.id_generator = ids
    return ids


def _attributes(row: Claimed, operation: str) -> dict[str, str | int]:
    attributes: dict[str, str | int] = {
        "messaging.system": SYSTEM,
        "messaging.operation.name": operation,
        "messaging.destination.name": row.queue,
        "messaging.message.id": str(row.job_id),
        KIND: row.kind,
        TENANT: row.tenant,
        ATTEMPT: row.attempt,
    }
    if operation != "wait":  # which is none of the conventions' types
        attributes["messaging.operation.type"] = operation
    return attributes


def _epoch_ns(monotonic_us: int) -> int:
    """Return a moment of CLOCK_MONOTONIC in nanoseconds since 1970, by the clock of now."""
    return time_ns() - monotonic_ns() + monotonic_us * 1000
