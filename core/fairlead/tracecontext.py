"""Trace context in the format of W3C, which a job's headers carry.

OpenTelemetry is an extra. A program that has a span has loaded it, so if it is not loaded there
is no span, and nothing is imported here.
"""

import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from opentelemetry.trace import SpanContext

TRACEPARENT: Final = "traceparent"
TRACESTATE: Final = "tracestate"
STATE_CHARACTERS_MAX: Final = 512
"""A longer `tracestate` is left out: what all of W3C's parties have to pass on is this long."""


def current_headers() -> dict[str, str]:
    """Return the headers that carry the current span on; none where no span is current."""
    context = _current()
    return {} if context is None else headers_of(context)


def headers_of(context: "SpanContext") -> dict[str, str]:
    """Return the headers that carry this span on."""
    trace_id, span_id = f"{context.trace_id:032x}", f"{context.span_id:016x}"
    headers = {TRACEPARENT: f"00-{trace_id}-{span_id}-{int(context.trace_flags):02x}"}
    state = context.trace_state.to_header()
    if 0 < len(state) <= STATE_CHARACTERS_MAX:
        headers[TRACESTATE] = state
    return headers


def log_fields() -> Mapping[str, str]:
    """Return `trace_id` and `span_id` of the current span for a log line; none without one."""
    context = _current()
    if context is None:
        return {}
    return {"trace_id": f"{context.trace_id:032x}", "span_id": f"{context.span_id:016x}"}


def _current() -> "SpanContext | None":
    if "opentelemetry.trace" not in sys.modules:
        return None
    from opentelemetry import trace  # noqa: PLC0415 - it is an extra, and loaded already

    context = trace.get_current_span().get_span_context()
    return context if context.is_valid else None
