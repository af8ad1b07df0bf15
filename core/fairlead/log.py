"""Structured logs: events with nouns, as JSON for machines or coloured lines for people."""

import io
import logging
import os
import sys
from collections.abc import Callable
from typing import TextIO

import structlog

from fairlead.log_choices import LogFormat


class Lines(io.StringIO):
    """Hands on the lines of this process's own log, each once it is whole.

    Args:
        name: Whose lines they are.
        say: Is called with that and a line.
        coloured: Whether they may have colours.
    """

    def __init__(
        self, name: str, say: Callable[[str, str], None], *, coloured: bool = False
    ) -> None:
        super().__init__()
        self._name = name
        self._say = say
        self._coloured = coloured
        self._begun = ""

    def isatty(self) -> bool:
        """Tell whether somebody sees the lines on a terminal."""
        return self._coloured

    def write(self, text: str, /) -> int:
        """Say each line that has come to its end."""
        *lines, self._begun = f"{self._begun}{text}".split("\n")
        for line in lines:
            self._say(self._name, line)
        return len(text)


def configure(
    log_format: LogFormat = "auto", level: str = "info", *, to: TextIO | None = None
) -> None:
    """Send every log line of this process to standard error, or to another stream.

    `auto` is console on a terminal and JSON elsewhere. Lines for people are coloured on a
    terminal, or where FORCE_COLOR says that whoever reads them shows them on one. Calling it
    again replaces the choice.
    """
    stream = to or sys.stderr
    terminal = stream.isatty()
    as_json = log_format == "json" or (log_format == "auto" and not terminal)
    colours = terminal or bool(os.environ.get("FORCE_COLOR"))
    renderer: structlog.types.Processor = (
        structlog.processors.JSONRenderer()
        if as_json
        # Not rich's traceback: it shows each frame's variables, a password among them.
        else structlog.dev.ConsoleRenderer(
            colors=colours, exception_formatter=structlog.dev.plain_traceback
        )
    )
    shared: list[structlog.types.Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.processors.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
    ]
    if as_json:
        shared.append(structlog.processors.format_exc_info)
    structlog.configure(
        processors=[*shared, renderer],
        wrapper_class=structlog.make_filtering_bound_logger(
            logging.getLevelNamesMapping()[level.upper()]
        ),
        logger_factory=structlog.PrintLoggerFactory(stream),
        cache_logger_on_first_use=False,
    )


def get(name: str) -> structlog.typing.FilteringBoundLogger:
    """Return the logger of one part of the program; its name is on every line."""
    logger: structlog.typing.FilteringBoundLogger = structlog.get_logger(part=name)
    return logger


def print_by_line() -> None:
    """Have what this process prints leave it line by line, into a pipe or a file as well.

    People look for what a handler prints while it runs, and a process that is killed takes with
    it what lies in a buffer. A repeat is harmless.
    """
    output: object = sys.stdout
    if isinstance(output, io.TextIOWrapper):
        output.reconfigure(line_buffering=True)
