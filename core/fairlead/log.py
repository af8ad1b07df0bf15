"""Structured logs: events with nouns, as JSON for machines or coloured lines for people.

What is logged while a handler runs says of which attempt it tells, and in which trace. That
holds for Fairlead's own lines, for what an application logs by Python's `logging` without
having set that up, and for its own handlers of `logging` once they have a `JobFilter`.
"""

import io
import logging
import os
import sys
from collections.abc import Callable, Mapping
from contextvars import ContextVar
from typing import Final, Protocol, TextIO

import structlog

from fairlead import tracecontext
from fairlead.log_choices import LogFormat

FIELDS: Final = ("job", "queue", "tenant", "attempt", "trace_id", "span_id")
"""What lines say of the attempt in which they were written."""


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


class Running(Protocol):
    """What is to be known of an attempt for that; a claimed row is one."""

    @property
    def job_id(self) -> int:
        """The job's id."""
        ...

    @property
    def queue(self) -> str:
        """The queue it came through."""
        ...

    @property
    def tenant(self) -> str:
        """Whose job it is."""
        ...

    @property
    def attempt(self) -> int:
        """Which attempt this is, from 1."""
        ...


running: ContextVar[Running | None] = ContextVar("running", default=None)
"""The attempt whose handler runs here; set in the handler's own context."""


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
        _say_where,
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
    logging.lastResort = _last_resort(stream, renderer, shared)


def _last_resort(
    stream: TextIO,
    renderer: structlog.types.Processor,
    shared: list[structlog.types.Processor],
) -> logging.Handler:
    """Return what writes warnings of `logging` until an application sets that up itself."""
    handler = logging.StreamHandler(stream)
    handler.setLevel(logging.WARNING)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, renderer],
            foreign_pre_chain=[
                structlog.stdlib.ExtraAdder(),
                structlog.stdlib.add_logger_name,
                *shared,
            ],
        )
    )
    return handler


def of_attempt() -> Mapping[str, object]:
    """Return what there is of `FIELDS` here and now; nothing outside of handlers and spans."""
    row = running.get()
    if row is None:
        return tracecontext.told()
    return {
        "job": row.job_id,
        "queue": row.queue,
        "tenant": row.tenant,
        "attempt": row.attempt,
        **tracecontext.told(),
    }


def _say_where(
    _logger: object, _method: str, event: structlog.types.EventDict
) -> structlog.types.EventDict:
    """Add the attempt to a line that does not say itself which one it is about."""
    for name, value in of_attempt().items():
        event.setdefault(name, value)
    return event


class JobFilter(logging.Filter):
    """Gives each record that passes an attribute for each of `FIELDS`, for formatters to show.

    What there is not is None, so that `%(job)s` is right outside of handlers, too. What a
    record has already, by `extra` for example, stays. The worker gives one to every handler of
    `logging` that there is once the application is loaded; a later one needs its own.
    """

    def filter(self, record: logging.LogRecord) -> bool:
        """Let the record pass."""
        known = of_attempt()
        for name in FIELDS:
            record.__dict__.setdefault(name, known.get(name))
        return True


def mark_records() -> None:
    """Give every handler of `logging` that there is a `JobFilter`; a repeat adds no second."""
    loggers = [logging.root, *logging.root.manager.loggerDict.values()]
    for logger in loggers:
        for handler in logger.handlers if isinstance(logger, logging.Logger) else ():
            if not any(isinstance(each, JobFilter) for each in handler.filters):
                handler.addFilter(JobFilter())


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
