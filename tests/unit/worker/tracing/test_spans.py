"""Whether anything is traced, and the names and attributes of spans; without a worker."""

import json
from contextvars import Context

import pytest
from opentelemetry.sdk.trace import SpanProcessor, TracerProvider
from opentelemetry.sdk.trace.id_generator import RandomIdGenerator
from opentelemetry.trace import NoOpTracerProvider, get_current_span

from fairlead_worker.attempts import outcome
from fairlead_worker.attempts.attempt import Attempt
from fairlead_worker.attempts.outcome import (
    Ending,
    Failure,
    Finished,
    FinishedByHandler,
    HandedBack,
    TraceOutcome,
)
from fairlead_worker.attempts.trace import FormerAttempt, Origin
from fairlead_worker.child.intake import NO_HANDLER
from fairlead_worker.tracing import setup
from fairlead_worker.tracing.spans import SpanIds, Spans, parent_of, span_id_of, trace_id_of
from tests.support.attempts import Sink, claimed

_ENDPOINT = {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://collector:4318"}
_TRACE, _SPAN = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
_ORIGIN = Origin(1_700_000_000_000_000, None)


class Breaks(SpanProcessor):
    """An application's own processor, with a bug in it."""

    def on_end(self, span: object) -> None:
        """Fail."""
        raise RuntimeError(f"no room for {type(span).__name__}")


def attempt(headers: str | None = None) -> Attempt:
    """Return an attempt that has started."""
    made = Attempt(claimed(7, 70, headers=headers), NO_HANDLER, Sink(), 1_000)
    made.started_us, made.ended_us = 2_000, 3_000
    return made


@pytest.mark.parametrize(
    ("environment", "provided", "traced"),
    [
        ({}, False, False),
        (_ENDPOINT, False, True),
        ({"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://collector"}, False, True),
        ({"OTEL_EXPORTER_OTLP_ENDPOINT": " "}, False, False),
        ({**_ENDPOINT, "OTEL_TRACES_EXPORTER": "otlp"}, False, True),
        ({**_ENDPOINT, "OTEL_EXPORTER_OTLP_PROTOCOL": "http/protobuf"}, False, True),
        ({**_ENDPOINT, "OTEL_TRACES_EXPORTER": "none"}, False, False),
        ({**_ENDPOINT, "OTEL_SDK_DISABLED": "TRUE"}, False, False),
        ({}, True, True),
        ({"OTEL_TRACES_EXPORTER": "zipkin"}, True, True),
        ({"OTEL_SDK_DISABLED": "true"}, True, False),
    ],
)
def test_an_endpoint_or_a_provider_switches_it_on(
    environment: dict[str, str], *, provided: bool, traced: bool
) -> None:
    """And a variable switches it off without a log line."""
    off = setup.reason_disabled(environment, provided=provided)

    assert (None if traced else setup.TracingDisabled()) == off


@pytest.mark.parametrize(
    ("name", "value", "why"),
    [
        ("OTEL_TRACES_EXPORTER", "zipkin", "OTEL_TRACES_EXPORTER is 'zipkin': set it to otlp"),
        ("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc", "is 'grpc': set it to http/protobuf"),
        ("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "http/json", "is 'http/json': set it to"),
    ],
)
def test_what_is_not_to_be_had_is_said_with_what_to_set(
    name: str, value: str, why: str
) -> None:
    """The variables suggest that traces were wanted."""
    off = setup.reason_disabled({**_ENDPOINT, name: value}, provided=False)

    assert off is not None
    assert why in str(off.reason)


def test_a_run_is_called_by_its_job_and_its_token() -> None:
    """Again the same, and else another one: retries find it by that."""
    trace_id = trace_id_of(7, _ORIGIN)
    names = {
        span_id_of(trace_id, 7, 70, _ORIGIN),
        span_id_of(trace_id, 7, 71, _ORIGIN),
        span_id_of(trace_id, 8, 70, _ORIGIN),
        span_id_of(trace_id + 1, 7, 70, _ORIGIN),
        span_id_of(trace_id, 7, 70, Origin(_ORIGIN.created_us + 1, None)),
    }

    assert 5 == len(names)
    assert trace_id == trace_id_of(
        7, Origin(_ORIGIN.created_us, FormerAttempt(69, 1, "failed"))
    )
    assert trace_id != trace_id_of(7, Origin(_ORIGIN.created_us + 1, None))
    assert all(0 < name < 1 << 64 for name in names)
    assert 0 < trace_id < 1 << 128


def test_only_the_next_span_has_a_name_that_was_foreseen() -> None:
    """All others of the thread, the application's too, are drawn."""
    ids = SpanIds(RandomIdGenerator())

    ids.preset(5, 6)
    foreseen = ids.generate_trace_id(), ids.generate_span_id()
    ids.forget()

    assert (5, 6) == foreseen
    assert {5, 6}.isdisjoint({ids.generate_trace_id(), ids.generate_span_id()})


@pytest.mark.parametrize(
    ("headers", "found"),
    [
        (None, False),
        ("{}", False),
        ('["traceparent"]', False),
        (json.dumps({"traceparent": f"00-{_TRACE}-{_SPAN}-01"}), True),
        (json.dumps({"traceparent": f"00-{_TRACE}-{_SPAN}-01", "tracestate": 5}), True),
        (json.dumps({"TraceParent": f"00-{_TRACE}-{_SPAN}-01"}), False),
        (json.dumps({"traceparent": None}), False),
    ],
)
def test_the_parent_is_what_the_headers_name(headers: str | None, *, found: bool) -> None:
    """In W3C's words, in lower case; anything else is none."""
    context = get_current_span(parent_of(headers)).get_span_context()

    assert found == context.is_valid
    assert (_TRACE if found else "0" * 32) == f"{context.trace_id:032x}"


@pytest.mark.parametrize(
    ("ending", "said"),
    [
        (None, TraceOutcome("succeeded")),
        (Finished("succeeded", "1"), TraceOutcome("succeeded")),
        (Finished("failed", None, "why"), TraceOutcome("failed", failed=True, error="why")),
        (Finished("cancelled", None, "why"), TraceOutcome("cancelled", error="why")),
        (HandedBack("failed", "why"), TraceOutcome("failed", failed=True, error="why")),
        (HandedBack("crashed", "why"), TraceOutcome("crashed", failed=True, error="why")),
        (HandedBack("snoozed", None, 5.0), TraceOutcome("snoozed")),
        (HandedBack("released", "why"), TraceOutcome("released", error="why")),
        (outcome.JobLost(), TraceOutcome("lost")),
        (outcome.finished_by_handler(None), TraceOutcome("succeeded")),
        (
            FinishedByHandler(HandedBack("failed", "why")),
            TraceOutcome("failed", failed=True, error="why"),
        ),
    ],
)
def test_an_ending_is_a_failure_or_it_is_not(ending: Ending | None, said: TraceOutcome) -> None:
    """Of a handler that completed its job, it counts how it left."""
    assert said == outcome.trace_outcome(ending)


def test_a_bug_in_an_applications_processor_costs_no_attempt(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """It is logged, and the attempt goes on."""
    provider = TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(Breaks())
    spans, run = Spans(provider, "default"), attempt()

    spans.begin(run)
    Context().run(spans.enter, run)
    spans.end(run)
    spans.stored([run])
    spans.close(1.0)

    said = capsys.readouterr()
    assert 1 == (said.out + said.err).count("RuntimeError: no room for")


def test_another_provider_than_the_sdks_is_served_too() -> None:
    """Without names that are foreseen, and so without links between attempts."""
    run = attempt()
    run.origin = Origin(1, FormerAttempt(69, 1, "failed"))
    spans = Spans(NoOpTracerProvider(), "default")

    spans.begin(run)
    spans.failed(run, Failure(ValueError("no luck"), will_retry=True))
    spans.end(run)
    spans.stored([run])
    spans.close(1.0)

    assert run.trace is not None
    assert not run.trace.span.is_recording()
