"""What an enqueue puts into a job's headers of the trace in which it happens."""

import json
import subprocess
import sys
from collections.abc import Sequence
from contextlib import nullcontext

import pytest
from opentelemetry import trace
from opentelemetry.trace import NonRecordingSpan, SpanContext, TraceFlags, TraceState

import fairlead
from fairlead import tracecontext
from fairlead.jsontext import Json

_TRACE, _SPAN = 0x4BF92F3577B34DA6A3CE929D0E0E4736, 0x00F067AA0BA902B7
PARENT = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
_FULL: dict[str, Json] = {"note": "x" * 8160}


def span(*, sampled: bool = True, state: dict[str, str] | None = None) -> NonRecordingSpan:
    """Return a span that could be current."""
    flags = TraceFlags(TraceFlags.SAMPLED if sampled else TraceFlags.DEFAULT)
    states = TraceState([*(state or {}).items()])
    return NonRecordingSpan(
        SpanContext(_TRACE, _SPAN, is_remote=False, trace_flags=flags, trace_state=states)
    )


class Cursor:
    """A driver's connection, which records what it is given to send."""

    sent = ""

    def execute(self, operation: str, parameters: Sequence[object], /) -> None:
        """Keep it."""
        assert "fairlead.jobs" in operation
        self.sent = str(parameters[0])

    def fetchall(self) -> list[tuple[int]]:
        """Return an id."""
        return [(7,)]


def headers(given: dict[str, Json] | None, current: NonRecordingSpan | None) -> object:
    """Return the headers of a job that is enqueued while this span is current."""
    cursor = Cursor()
    with nullcontext() if current is None else trace.use_span(current):
        assert 7 == fairlead.enqueue(cursor, "work", headers=given)
    (row,) = json.loads(cursor.sent)
    return row["headers"]


@pytest.mark.parametrize(
    ("given", "found"),
    [
        (None, {"traceparent": PARENT}),
        ({}, {"traceparent": PARENT}),
        ({"by": "shop"}, {"traceparent": PARENT, "by": "shop"}),
        ({"traceparent": "mine"}, {"traceparent": "mine"}),
        (_FULL, _FULL),
    ],
)
def test_the_current_span_is_carried_along(
    given: dict[str, Json] | None, found: dict[str, Json]
) -> None:
    """Unless the application has named one itself, or its headers have no room for it."""
    assert found == headers(given, span())


@pytest.mark.parametrize("given", [None, {}, {"by": "shop"}])
def test_without_a_current_span_headers_stay_as_they_are(given: dict[str, Json] | None) -> None:
    """Nothing is made up."""
    assert given == headers(given, None)


def test_flags_and_state_are_carried_along() -> None:
    """Who began the trace has decided whether it is kept; a long state is left out."""
    quiet = headers(None, span(sampled=False))
    known = headers(None, span(state={"shop": "7"}))
    long = headers(None, span(state={f"s{n}": "x" * 200 for n in range(3)}))

    assert {"traceparent": PARENT.removesuffix("1") + "0"} == quiet
    assert {"traceparent": PARENT, "tracestate": "shop=7"} == known
    assert {"traceparent": PARENT} == long


def test_headers_that_are_no_json_are_refused_in_the_usual_sentence() -> None:
    """The current span does not hide what is wrong with them."""
    wrong = {"at": {1, 2}}

    with pytest.raises(ValueError, match=r"job of kind .* cannot be written as JSON"):
        headers(wrong, span())  # type: ignore[arg-type]  # that is what is wrong with it


def test_an_application_without_opentelemetry_never_loads_it() -> None:
    """Asking whether a span is current is a look into the loaded modules."""
    program = (
        "import sys; from fairlead import tracecontext as t; t.current_headers(); "
        "t.log_fields(); print(any(name.startswith('opentelemetry') for name in sys.modules))"
    )

    said = subprocess.run(
        [sys.executable, "-c", program], check=True, capture_output=True, text=True
    )

    assert "False\n" == said.stdout
    assert {} == tracecontext.current_headers()
