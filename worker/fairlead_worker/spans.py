"""The spans of attempts, in the words of OpenTelemetry's conventions for messaging.

    process QUEUE    the run: a child of the span that the job's headers name, and linked to it
      wait QUEUE     before it, from when the job could run
      settle QUEUE   after it, until its ending was written

A retry is another child of that span, linked to the attempt before it. A job whose headers
name no span has a trace of its own, for all its attempts. Nothing is stored for that: what
identifies a trace or the span of a run is a digest of the job and the attempt's token, so that
a retry knows what its former attempt was called, wherever and whenever that ran.

Whatever goes wrong here is logged, and changes nothing for the attempt. This module needs the
extra `otel`.
"""

import json
import threading
import traceback
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import wraps
from hashlib import blake2b
from time import monotonic, monotonic_ns, time_ns
from typing import Concatenate, ParamSpec, cast

from opentelemetry.context import Context, attach
from opentelemetry.sdk.trace import Tracer as SdkTracer
from opentelemetry.sdk.trace.id_generator import IdGenerator
from opentelemetry.trace import (
    Link,
    Span,
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

from fairlead import log, tracecontext
from fairlead.job import Claimed
from fairlead.reminder import Reminder
from fairlead_worker import outcome
from fairlead_worker.attempt import Attempt
from fairlead_worker.origins import Origin
from fairlead_worker.outcome import Failure

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


@dataclass(slots=True)
class Trace:
    """The span of an attempt's run, and what identifies it."""

    span: Span
    trace_id: str
    span_id: str
    raised: Mapping[str, str] | None = None
    """What the handler raised in another process, by the conventions' names."""

    @property
    def headers(self) -> dict[str, str]:
        """What carries it on, such as into the process of its handler."""
        return tracecontext.headers_of(self.span.get_span_context())


class Ids(IdGenerator):
    """Draws what identifies spans as usual, except for a span that was foreseen.

    Args:
        usual: how it is drawn else.
    """

    def __init__(self, usual: IdGenerator) -> None:
        self._usual = usual
        self._next = threading.local()

    def foresee(self, trace_id: int, span_id: int) -> None:
        """Have the next span of this thread called so, and its trace if that begins with it."""
        self._next.trace_id, self._next.span_id = trace_id, span_id

    def forget(self) -> None:
        """Foresee nothing more in this thread."""
        self._next.trace_id = self._next.span_id = None

    def generate_span_id(self) -> int:
        """Return what identifies the next span."""
        foreseen: int | None = getattr(self._next, "span_id", None)
        return self._usual.generate_span_id() if foreseen is None else foreseen

    def generate_trace_id(self) -> int:
        """Return what identifies the next trace."""
        foreseen: int | None = getattr(self._next, "trace_id", None)
        return self._usual.generate_trace_id() if foreseen is None else foreseen

    def is_trace_id_random(self) -> bool:
        """Tell samplers that they may go by it: a digest's bits are spread as evenly."""
        return True


def _harmless(
    method: "Callable[Concatenate[Spans, P], None]",
) -> "Callable[Concatenate[Spans, P], None]":
    """Have a method log what it raises: other people's span processors may raise anything."""

    @wraps(method)
    def guarded(self: "Spans", /, *args: P.args, **kwargs: P.kwargs) -> None:
        try:
            method(self, *args, **kwargs)
        except Exception as error:  # noqa: BLE001 - a trace is not worth an attempt
            self.complain(error)

    return guarded


class Spans:
    """Makes the spans of attempts. Used by every thread that runs handlers, and the finisher's.

    Args:
        provider: where spans go; shut down by `close`.
        pool: which pool's jobs are run.
    """

    def __init__(self, provider: TracerProvider, pool: str) -> None:
        self._provider = provider
        self._pool = pool
        self._tracer = provider.get_tracer("fairlead_worker")
        self._ids = _ids_of(self._tracer)
        self._log, self._reminder = log.get("worker.traces"), Reminder()

    # --- the run ----------------------------------------------------------------------------

    @_harmless
    def begin(self, attempt: Attempt) -> None:
        """Begin the span of a run that has just started."""
        row, origin = attempt.row, attempt.origin
        context = parent_of(row.headers)
        parent = get_current_span(context).get_span_context()
        links = [Link(parent)] if parent.is_valid else []
        if self._ids is not None and origin is not None:
            trace_id = parent.trace_id if parent.is_valid else trace_id_of(row.job_id, origin)
            links += _to_former(trace_id, row.job_id, origin)
            self._ids.foresee(trace_id, span_id_of(trace_id, row.job_id, row.token, origin))
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

    @_harmless
    def enter(self, attempt: Attempt) -> None:
        """Make it the current span of the context in which the handler runs."""
        if attempt.trace is not None:
            attach(set_span_in_context(attempt.trace.span))

    @_harmless
    def resume(self, headers: Mapping[str, str]) -> None:
        """Make a span of another process current here: the one that these headers carry."""
        attach(_W3C.extract(headers, Context()))

    @_harmless
    def failed(self, attempt: Attempt, failure: Failure) -> None:
        """Note what the handler raised."""
        if attempt.trace is not None:
            error = failure.error
            attempt.trace.span.set_attribute(ERROR_TYPE, type(error).__qualname__)
            attempt.trace.span.record_exception(error)

    @staticmethod
    def raised(failure: Failure) -> dict[str, str]:
        """Return what a failure's exception says, for a span in another process."""
        error = failure.error
        frames = "".join(traceback.format_exception(error))
        return {
            "exception.type": type(error).__qualname__,
            "exception.message": outcome.words(error),
            "exception.stacktrace": frames[-_FRAMES_CHARACTERS_MAX:],
        }

    @_harmless
    def over(self, attempt: Attempt) -> None:
        """End it: the handler has ended, and the attempt has its ending."""
        if attempt.trace is None:
            return
        span, raised = attempt.trace.span, attempt.trace.raised
        said = outcome.in_words(attempt.ending)
        span.set_attribute(ENDED_AS, said.ended_as)
        if said.failed:
            span.set_status(Status(StatusCode.ERROR, (said.error or "").partition("\n")[0]))
        if raised is not None:
            span.set_attribute(ERROR_TYPE, raised["exception.type"])
            span.add_event("exception", raised)
        span.end(_epoch_ns(attempt.ended_us))

    # --- before and after it ----------------------------------------------------------------

    def written(self, attempts: Iterable[Attempt]) -> None:
        """Make the spans of their waits, and of the endings that have just been written."""
        now_ns = time_ns()
        for attempt in attempts:
            trace = attempt.trace
            if trace is not None and trace.span.get_span_context().trace_flags.sampled:
                self._surround(attempt, set_span_in_context(trace.span, Context()), now_ns)

    @_harmless
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
        if isinstance(attempt.ending, outcome.Unsaid):
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

    @_harmless
    def _shut_down(self) -> None:
        shut_down: Callable[[], object] | None = getattr(self._provider, "shutdown", None)
        if shut_down is not None:  # the interface has none, only the SDK's providers have
            shut_down()

    def complain(self, error: Exception) -> None:
        """Log that something went wrong, now and then."""
        why = f"{type(error).__qualname__}: {error}"
        if self._reminder.due(why, monotonic()):
            self._log.warning("traces.failed", why=why)


def parent_of(headers: str | None) -> Context:
    """Return the context that a job's headers carry; an empty one where they carry none."""
    if headers is None or tracecontext.TRACEPARENT not in headers:
        return Context()
    said: object = json.loads(headers)
    found = cast("dict[str, object]", said) if isinstance(said, dict) else {}
    # Anybody may have written anything there.
    wanted = ((name, found.get(name)) for name in _HEADERS)
    carrier = {name: value for name, value in wanted if isinstance(value, str)}
    return _W3C.extract(carrier, Context())


def trace_id_of(job_id: int, origin: Origin) -> int:
    """Return what identifies the trace of a job whose headers name none."""
    return _digest(_TRACE_ID_BYTES, origin.created_us, job_id)


def span_id_of(trace_id: int, job_id: int, token: int, origin: Origin) -> int:
    """Return what identifies the span of a run."""
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


def _ids_of(tracer: Tracer) -> Ids | None:
    """Return what names a tracer's spans from now on; None for one that is not the SDK's."""
    if not isinstance(tracer, SdkTracer):
        return None
    ids = Ids(tracer.id_generator)
    tracer.id_generator = ids
    return ids


def _attributes(row: Claimed, operation: str) -> dict[str, str | int]:
    said: dict[str, str | int] = {
        "messaging.system": SYSTEM,
        "messaging.operation.name": operation,
        "messaging.destination.name": row.queue,
        "messaging.message.id": str(row.job_id),
        KIND: row.kind,
        TENANT: row.tenant,
        ATTEMPT: row.attempt,
    }
    if operation != "wait":  # which is none of the conventions' types
        said["messaging.operation.type"] = operation
    return said


def _epoch_ns(monotonic_us: int) -> int:
    """Return a moment of CLOCK_MONOTONIC in nanoseconds since 1970, by the clock of now."""
    return time_ns() - monotonic_ns() + monotonic_us * 1000
