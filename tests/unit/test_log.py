"""Log lines: for people or for machines, and coloured only where colours are shown."""

import json
from collections.abc import Iterator

import pytest
import structlog

from fairlead import log
from fairlead.log_choices import LogFormat


@pytest.fixture(autouse=True)
def configuration() -> Iterator[None]:
    """Leave the process's logging as it was."""
    yield
    structlog.reset_defaults()


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
    lines = log.Lines("autoscaler", lambda name, line: said.append((name, line)))

    for text in ("pool.", "scaled", "\n", "pool.decided\npod.", "marked\n"):
        print(text, end="", file=lines)

    assert [
        ("autoscaler", "pool.scaled"),
        ("autoscaler", "pool.decided"),
        ("autoscaler", "pod.marked"),
    ] == said
