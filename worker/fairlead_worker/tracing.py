"""Whether attempts are traced: OpenTelemetry is an extra, and its own variables configure it.

An application may set a tracer provider of its own as it is loaded; then spans go there.
Otherwise they go out by OTLP where an endpoint is given, and nowhere where none is. What cannot
be done is said once, and the jobs run all the same.
"""

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from fairlead import log

if TYPE_CHECKING:
    from opentelemetry.trace import TracerProvider

    from fairlead_worker.spans import Spans

FLUSH_SECONDS = 2.0
"""How long a process that ends waits for what it has traced to be sent."""
_PROTOCOL = "http/protobuf"


@dataclass(frozen=True, slots=True)
class Off:
    """Nothing is traced; why, if somebody seems to have wanted it."""

    why: str | None = None


def off(environment: Mapping[str, str], *, provided: bool) -> Off | None:
    """Return why nothing is traced; None: it is.

    `provided` says whether the application has set a tracer provider of its own.
    """
    exporter = environment.get("OTEL_TRACES_EXPORTER", "otlp").strip()
    if environment.get("OTEL_SDK_DISABLED", "").strip().lower() == "true":
        return Off()
    if provided:
        return None
    if exporter == "none" or not _first(environment, "ENDPOINT"):
        return Off()
    if exporter != "otlp":
        return Off(
            f"OTEL_TRACES_EXPORTER is {exporter!r}: set it to otlp or none, or set a tracer "
            "provider where the application is loaded"
        )
    protocol = _first(environment, "PROTOCOL") or _PROTOCOL
    if protocol != _PROTOCOL:
        return Off(
            f"OTEL_EXPORTER_OTLP_PROTOCOL is {protocol!r}: set it to {_PROTOCOL}, or set a "
            "tracer provider where the application is loaded"
        )
    return None


def start(pool: str) -> "Spans | None":
    """Begin to trace, once the application is loaded; None: nothing is traced."""
    own = _applications_own()
    verdict = off(os.environ, provided=own is not None) or _begun(own, pool)
    if isinstance(verdict, Off):
        if verdict.why is not None:
            log.get("worker.traces").warning("traces.off", why=verdict.why)
        return None
    return verdict


def _applications_own() -> "TracerProvider | None":
    if "opentelemetry.trace" not in sys.modules:
        return None
    from opentelemetry import trace  # noqa: PLC0415 - it is an extra, and loaded already

    provider = trace.get_tracer_provider()
    return None if isinstance(provider, trace.ProxyTracerProvider) else provider


def _begun(own: "TracerProvider | None", pool: str) -> "Spans | Off":
    try:
        from fairlead_worker import exporting, spans  # noqa: PLC0415 - they need an extra
    except ImportError as error:
        return Off(f"OpenTelemetry is not installed ({error}): pip install 'fairlead[otel]'")
    try:
        return spans.Spans(own or exporting.provider(), pool)
    except Exception as error:  # noqa: BLE001 - the SDK raises what it likes about its variables
        return Off(f"{type(error).__qualname__}: {error}: see the OTEL_ variables")


def _first(environment: Mapping[str, str], name: str) -> str:
    """Return an OTLP variable: that for traces wins."""
    general = environment.get(f"OTEL_EXPORTER_OTLP_{name}", "")
    return (environment.get(f"OTEL_EXPORTER_OTLP_TRACES_{name}") or general).strip()
