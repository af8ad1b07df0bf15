"""A tracer provider that sends spans by OTLP over HTTP, as the OTEL_* variables configure it.

This module needs the extra `otel`.
"""

from opentelemetry import trace
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import SERVICE_NAME, Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor

_SERVICE = "fairlead-worker"
_NAMELESS = "unknown_service"


def provider() -> TracerProvider:
    """Return a new provider, which is this process's from now on, so that handlers find it.

    A thread of its own sends spans in batches; what does not fit its queue is dropped, and
    nothing waits for it.

    Raises:
        ValueError: a variable holds what the SDK cannot read.
    """
    resource = Resource.create()
    if str(resource.attributes.get(SERVICE_NAME, _NAMELESS)).startswith(_NAMELESS):
        resource = resource.merge(Resource({SERVICE_NAME: _SERVICE}))
    # The process shuts it down itself as it ends, in bounded time.
    made = TracerProvider(resource=resource, shutdown_on_exit=False)
    made.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    trace.set_tracer_provider(made)
    return made
