"""Log lines: for people or for machines, and coloured only where colours are shown."""

import io
import json
import logging
from collections.abc import Iterator
from contextvars import Context

import pytest
import structlog
from opentelemetry import trace
from opentelemetry.context import attach
from opentelemetry.trace import NonRecordingSpan, SpanContext, TraceFlags

from fairlead.runtime import log
from fairlead.runtime.log_choices import LogFormat
from tests.support.attempts import claimed

_CONTEXT = SpanContext(0xABC, 0xDEF, is_remote=False, trace_flags=TraceFlags(1))
_TRACE, _SPAN = f"{0xABC:032x}", f"{0xDEF:016x}"
_ATTEMPT = {"job": 7, "queue": "default", "tenant": "", "attempt": 1}
_ALL = {**_ATTEMPT, "trace_id": _TRACE, "span_id": _SPAN}


@pytest.fixture(autouse=True)
def configuration() -> Iterator[None]:
    """Leave the process's logging as it was."""
    last = logging.lastResort
    yield
    structlog.reset_defaults()
    logging.lastResort = last


@pytest.fixture
def shop() -> logging.Logger:
    """Return an application's logger without any configuration, not even pytest's."""
    return logging.Logger("tests.shop")  # noqa: LOG001 - it must have no parent


def line(capsys: pytest.CaptureFixture[str], log_format: LogFormat) -> str:
    """Write one event in this format and return what came out."""
    log.configure(log_format)
    log.get("worker.claim").info("jobs.claimed", count=2)
    return capsys.readouterr().err


def test_a_file_gets_json_unless_it_is_to_be_read_by_people(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """`auto` is JSON where there is no terminal."""
    event = json.loads(line(capsys, "auto"))

    assert ("jobs.claimed", 2, "worker.claim") == (
        event["event"],
        event["count"],
        event["part"],
    )


def test_lines_for_people_have_no_colours_where_there_is_no_terminal(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file or a pipe gets plain text."""
    monkeypatch.delenv("FORCE_COLOR", raising=False)

    said = line(capsys, "console")

    assert "jobs.claimed" in said
    assert "\x1b" not in said


def test_whoever_shows_the_lines_on_a_terminal_can_ask_for_colours(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """FORCE_COLOR says that the pipe ends on a terminal, as it does for other programs."""
    monkeypatch.setenv("FORCE_COLOR", "1")

    assert "\x1b" in line(capsys, "console")


@pytest.mark.parametrize("log_format", ["json", "console"])
def test_a_traceback_does_not_show_what_the_variables_held(
    capsys: pytest.CaptureFixture[str], log_format: LogFormat
) -> None:
    """A connection URL with its password is a local variable of many a frame."""
    url = f"postgresql://u:{'x7q'}9kw@h/db"
    log.configure(log_format)

    try:
        int(url[:10])
    except ValueError:
        log.get("worker.claim").exception("step.failed")

    said = capsys.readouterr().err
    assert "ValueError: invalid literal" in said
    assert "x7q9kw" not in said


def test_a_line_of_the_log_is_said_once_it_is_whole() -> None:
    """However it comes; nothing is said for what ends it."""
    said: list[tuple[str, str]] = []
    lines = log.LineWriter("autoscaler", lambda name, line: said.append((name, line)))

    for text in ("pool.", "scaled", "\n", "pool.decided\npod.", "marked\n"):
        print(text, end="", file=lines)

    assert [
        ("autoscaler", "pool.scaled"),
        ("autoscaler", "pool.decided"),
        ("autoscaler", "pod.marked"),
    ] == said


def within(context: Context, *, traced: bool = True) -> Context:
    """Return the context with an attempt's handler in it."""
    context.run(log.running.set, claimed(7, 70))
    if traced:
        span = trace.set_span_in_context(NonRecordingSpan(_CONTEXT))
        context.run(attach, span)
    return context


def of_attempt(line: dict[str, object]) -> dict[str, object]:
    """Return what a line says of the attempt in which it was written."""
    return {name: line[name] for name in log.FIELDS if name in line}


@pytest.mark.parametrize("traced", [True, False])
def test_a_line_says_in_which_attempt_and_trace_it_was_written(
    capsys: pytest.CaptureFixture[str], *, traced: bool
) -> None:
    """Fairlead's own and any other of structlog; outside of handlers there is none."""
    log.configure("json")
    within(Context(), traced=traced).run(log.get("shop").info, "order.packed")
    log.get("shop").info("shop.closed")

    inside, outside = map(json.loads, capsys.readouterr().err.splitlines())

    assert (_ALL if traced else _ATTEMPT) == of_attempt(inside)
    assert {} == of_attempt(outside)


def test_what_a_line_says_itself_is_not_overwritten(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """It may be about another job than the one that runs."""
    log.configure("json")
    logger = log.get("shop")
    within(Context()).run(lambda: logger.info("order.packed", job=8))

    assert {**_ALL, "job": 8} == of_attempt(json.loads(capsys.readouterr().err))


def test_lines_for_people_say_it_too(capsys: pytest.CaptureFixture[str]) -> None:
    """As they say everything else."""
    log.configure("console")
    within(Context()).run(log.get("shop").info, "order.packed")

    said = capsys.readouterr().err
    assert all(f"{name}={value}" in said for name, value in _ALL.items() if value != "")


@pytest.mark.parametrize("log_format", ["json", "console"])
def test_warnings_of_an_application_without_logging_look_like_all_other_lines(
    capsys: pytest.CaptureFixture[str], shop: logging.Logger, log_format: LogFormat
) -> None:
    """With the attempt, the trace, the logger's name, and what the application adds."""
    log.configure(log_format)
    context = within(Context())
    context.run(shop.info, "below the level")
    context.run(lambda: shop.warning("packed %s", "it", extra={"order": 9}))

    said = capsys.readouterr().err
    assert 1 == len(said.splitlines())
    if log_format == "json":
        line = json.loads(said)
        assert _ALL == of_attempt(line)
        assert ("packed it", "warning", "tests.shop", 9) == tuple(
            line[name] for name in ("event", "level", "logger", "order")
        )
    else:
        assert all(each in said for each in ("packed it", "job=7", f"trace_id={_TRACE}"))


def test_an_exception_of_an_application_without_logging_has_its_traceback(
    capsys: pytest.CaptureFixture[str], shop: logging.Logger
) -> None:
    """As text in one line of JSON."""
    log.configure("json")
    try:
        int("x")
    except ValueError:
        shop.exception("not packed")

    assert "ValueError: invalid literal" in json.loads(capsys.readouterr().err)["exception"]


def test_an_applications_own_handlers_get_the_fields_of_the_attempt() -> None:
    """Its formatters may show them; where there is none, it is None, and `extra` wins."""
    shop, written = logging.getLogger("tests.own"), io.StringIO()
    own = logging.StreamHandler(written)
    own.setFormatter(logging.Formatter("%(message)s %(job)s %(tenant)r %(trace_id)s"))
    shop.addHandler(own)

    log.mark_records()
    log.mark_records()
    within(Context()).run(shop.warning, "packed")
    within(Context()).run(lambda: shop.warning("other", extra={"job": 8}))
    shop.warning("outside")

    assert 1 == len(own.filters)
    assert [f"packed 7 '' {_TRACE}", f"other 8 '' {_TRACE}", "outside None None None"] == (
        written.getvalue().splitlines()
    )
