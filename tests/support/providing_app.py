"""The application of the traces' tests, with a tracer provider of its own."""

import os

from opentelemetry import trace
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor

from tests.support.traced_app import tasks

__all__ = ("SERVICE", "tasks")

SERVICE = "shop"
_provider = TracerProvider(resource=Resource({"service.name": SERVICE}))
_provider.add_span_processor(
    BatchSpanProcessor(OTLPSpanExporter(f"{os.environ['TEST_COLLECTOR']}/v1/traces"))
)
trace.set_tracer_provider(_provider)
