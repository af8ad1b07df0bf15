"""A collector of traces on the loopback interface: it decodes what OTLP over HTTP brings."""

import gzip
import threading
from collections.abc import Generator, Iterable, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Literal

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import KeyValue
from opentelemetry.proto.trace.v1.trace_pb2 import Span as Sent
from opentelemetry.proto.trace.v1.trace_pb2 import Status

from tests.support.waiting import until

Mood = Literal["takes", "refuses", "hangs"]
Attributes = Mapping[str, str | int]
SOON = {"OTEL_BSP_SCHEDULE_DELAY": "50"}
"""Spans are sent after so many milliseconds, so that tests need not wait."""
LATE = {"OTEL_BSP_SCHEDULE_DELAY": "600000"}
"""Spans are sent when their process ends, and not before."""


@dataclass(frozen=True, slots=True)
class Link:
    """A span that another one names without being its child."""

    trace_id: str
    span_id: str
    attributes: Attributes


@dataclass(frozen=True, slots=True)
class Span:
    """A span as it came in."""

    name: str
    kind: str
    service: str
    trace_id: str
    span_id: str
    parent_id: str
    start_ns: int
    end_ns: int
    attributes: Attributes
    links: tuple[Link, ...]
    failed: bool
    message: str
    events: tuple[tuple[str, Attributes], ...]

    @property
    def job_id(self) -> int:
        """The job that it is about; 0 if it names none."""
        return int(self.attributes.get("messaging.message.id", 0))


class Collector:
    """Keeps the spans that come in, as long as it is in the mood for it."""

    def __init__(self) -> None:
        self.url = ""
        self.mood: Mood = "takes"
        self.spans: list[Span] = []
        self.asked = threading.Event()
        """A client sent something."""
        self.over = threading.Event()
        """What hangs, hangs until then."""

    @property
    def environment(self) -> dict[str, str]:
        """The variables with which a worker sends its spans here."""
        return {"OTEL_EXPORTER_OTLP_ENDPOINT": self.url}

    def of(self, name: str, job_id: int = 0) -> list[Span]:
        """Return the spans of this name, of one job if one is given, the earliest first."""
        found = [
            each for each in self.spans if each.name == name and job_id in {0, each.job_id}
        ]
        return sorted(found, key=lambda each: each.start_ns)

    def has(self, name: str, job_id: int = 0, *, count: int = 1) -> list[Span]:
        """Wait until so many such spans have come in; return them, the earliest first."""

        def there() -> list[Span] | None:
            found = self.of(name, job_id)
            return found if len(found) >= count else None

        seen = sorted({each.name for each in self.spans})
        return until(there, what=f"{count} spans {name!r} of job {job_id} among {seen}")

    def take(self, body: bytes) -> None:
        """Keep what a request brought."""
        request = ExportTraceServiceRequest()
        request.ParseFromString(body)
        for resource in request.resource_spans:
            service = str(_attributes(resource.resource.attributes).get("service.name", ""))
            for scope in resource.scope_spans:
                self.spans.extend(_span(each, service) for each in scope.spans)


def _span(sent: Sent, service: str) -> Span:
    return Span(
        name=sent.name,
        kind=Sent.SpanKind.Name(sent.kind).removeprefix("SPAN_KIND_"),
        service=service,
        trace_id=sent.trace_id.hex(),
        span_id=sent.span_id.hex(),
        parent_id=sent.parent_span_id.hex(),
        start_ns=sent.start_time_unix_nano,
        end_ns=sent.end_time_unix_nano,
        attributes=_attributes(sent.attributes),
        links=tuple(
            Link(each.trace_id.hex(), each.span_id.hex(), _attributes(each.attributes))
            for each in sent.links
        ),
        failed=sent.status.code == Status.STATUS_CODE_ERROR,
        message=sent.status.message,
        events=tuple((each.name, _attributes(each.attributes)) for each in sent.events),
    )


def _attributes(sent: Iterable[KeyValue]) -> Attributes:
    found: dict[str, str | int] = {}
    for each in sent:
        is_text = each.value.HasField("string_value")
        found[each.key] = each.value.string_value if is_text else each.value.int_value
    return found


@contextmanager
def collecting() -> Generator[Collector]:
    """Run a collector until the end of the block."""
    collector = Collector()

    class Endpoint(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            collector.asked.set()
            if collector.mood == "hangs":
                collector.over.wait()
            if collector.mood == "takes":
                packed = self.headers.get("Content-Encoding") == "gzip"
                collector.take(gzip.decompress(body) if packed else body)
            self.send_response(200 if collector.mood == "takes" else 503)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - as it is called
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Endpoint) as server:
        server.daemon_threads = True
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        collector.url = f"http://127.0.0.1:{server.server_port}"
        try:
            yield collector
        finally:
            collector.over.set()
            server.shutdown()
            thread.join()
