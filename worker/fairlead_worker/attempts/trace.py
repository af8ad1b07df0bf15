"""What identifies the trace of an attempt: where its job comes from, and the span of its run.

`Attempt` carries these values and nothing here imports OpenTelemetry, which is an extra; the
package `tracing` fills them in.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from fairlead import tracecontext

if TYPE_CHECKING:
    from opentelemetry.trace import Span


@dataclass(frozen=True, slots=True)
class FormerAttempt:
    """The job's last attempt that ended without finishing the job."""

    token: int
    attempt: int
    ended_as: str


@dataclass(frozen=True, slots=True)
class Origin:
    """When a job was inserted, in microseconds since 1970, and the attempt before this one."""

    created_us: int
    former: FormerAttempt | None


@dataclass(slots=True)
class Trace:
    """The span of an attempt's run, and its ids in hexadecimal."""

    span: "Span"
    trace_id: str
    span_id: str
    raised: Mapping[str, str] | None = None
    """The exception raised in the handler's own process, by OpenTelemetry's attribute names."""

    @property
    def headers(self) -> dict[str, str]:
        """The W3C headers that continue the trace in another process."""
        return tracecontext.headers_of(self.span.get_span_context())
