"""Decide whether attempts are traced: OpenTelemetry's own variables configure it.

OpenTelemetry is an extra. An application may set a tracer provider of its own as it is loaded;
then spans go there. Otherwise they go out by OTLP where an endpoint is given, and nowhere where
none is. What cannot be done is logged once, and the jobs run all the same.
"""

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from fairlead.runtime import log

if TYPE_CHECKING:
    from opentelemetry.trace import TracerProvider

    from fairlead_worker.tracing.spans import Spans

FLUSH_SECONDS = 2.0
"""How long a process that ends waits for what it has traced to be sent."""
_PROTOCOL = "http/protobuf"


@dataclass(frozen=True, slots=True)
class TracingDisabled:
    """Nothing is traced; the reason, if the variables suggest that it was wanted."""

    reason: str | None = None


def reason_disabled(
    environment: Mapping[str, str], *, provided: bool
) -> TracingDisabled | None:
    """Return why nothing is traced; None: it is.

    `provided` says whether the application has set a tracer provider of its own.
    """
    exporter = environment.get("OTEL_TRACES_EXPORTER", "otlp").strip()
    if environment.get("OTEL_SDK_DISABLED", "").strip().lower() == "true":
        return TracingDisabled()
    if provided:
        return None
    if exporter == "none" or not _first(environment, "ENDPOINT"):
        return TracingDisabled()
    if exporter != "otlp":
        return TracingDisabled(
            f"OTEL_TRACES_EXPORTER is {exporter!r}: set it to otlp or none, or set a tracer "
            "provider where the application is loaded"
        )
    protocol = _first(environment, "PROTOCOL") or _PROTOCOL
    if protocol != _PROTOCOL:
        return TracingDisabled(
            f"OTEL_EXPORTER_OTLP_PROTOCOL is {protocol!r}: set it to {_PROTOCOL}, or set a "
            "tracer provider where the application is loaded"
        )
    return None


def start(pool: str) -> "Spans | None":
    """Start tracing, once the application is loaded; None: nothing is traced."""
    own = _applications_own()
    found = reason_disabled(os.environ, provided=own is not None) or _begun(own, pool)
    if isinstance(found, TracingDisabled):
        if found.reason is not None:
            log.get("worker.traces").warning("traces.disabled", reason=found.reason)
        return None
    return found


def _applications_own() -> "TracerProvider | None":
    if "opentelemetry.trace" not in sys.modules:
        return None
    from opentelemetry import trace  # noqa: PLC0415 - it is an extra, and loaded already

    provider = trace.get_tracer_provider()
    return None if isinstance(provider, trace.ProxyTracerProvider) else provider


def _begun(own: "TracerProvider | None", pool: str) -> "Spans | TracingDisabled":
    try:
        from fairlead_worker.tracing import otlp, spans  # noqa: PLC0415 - they need an extra
    except ImportError as error:
        return TracingDisabled(
            f"OpenTelemetry is not installed ({error}): pip install 'fairlead[otel]'"
        )
    try:
        return spans.Spans(own or otlp.provider(), pool)
    except Exception as error:  # noqa: BLE001 - the SDK raises what it likes about its variables
        return TracingDisabled(f"{type(error).__qualname__}: {error}: see the OTEL_ variables")


def _first(environment: Mapping[str, str], name: str) -> str:
    """Return an OTLP variable: that for traces wins."""
    general = environment.get(f"OTEL_EXPORTER_OTLP_{name}", "")
    return (environment.get(f"OTEL_EXPORTER_OTLP_TRACES_{name}") or general).strip()
