"""Structured logs: events with nouns, as JSON for machines or coloured lines for people.

Lines that are logged while a handler runs carry the fields of its attempt and its trace. This
applies to Fairlead's own lines, to lines that an application logs with Python's `logging`
without having configured it, and to its own `logging` handlers once they have a `JobFilter`.
"""

import io
import logging
import os
import sys
from collections.abc import Callable, Mapping
from contextvars import ContextVar
from types import ModuleType
from typing import Final, Protocol, TextIO, cast

# Where rich is installed, structlog loads it for tracebacks that Fairlead never shows: a tenth
# of each process's start and memory.
_RICH_IS_UNUSED = "rich" not in sys.modules
if _RICH_IS_UNUSED:
    sys.modules["rich"] = cast("ModuleType", None)

import structlog  # noqa: E402 - see the lines above

if _RICH_IS_UNUSED:
    del sys.modules["rich"]

from fairlead import tracecontext  # noqa: E402 - see the lines above
from fairlead.runtime.log_choices import LogFormat  # noqa: E402 - see the lines above

Logger = structlog.typing.FilteringBoundLogger
"""What `get` returns."""

FIELDS: Final = ("job", "queue", "tenant", "attempt", "trace_id", "span_id")
"""The fields of the attempt in which a line was logged."""


class LineWriter(io.StringIO):
    """Passes the lines of this process's own log to a callback, each once it is complete.

    Args:
        name: The program that writes the lines.
        say: Called with that name and a line.
        coloured: Whether lines may have colours.
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
        """Return whether the lines are shown on a terminal."""
        return self._coloured

    def write(self, text: str, /) -> int:
        """Pass on each line that is complete."""
        *lines, self._begun = f"{self._begun}{text}".split("\n")
        for line in lines:
            self._say(self._name, line)
        return len(text)


class RunningAttempt(Protocol):
    """The values of an attempt that lines carry; a claimed row has them."""

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
        """The tenant of the job."""
        ...

    @property
    def attempt(self) -> int:
        """Which attempt this is, from 1."""
        ...


running: ContextVar[RunningAttempt | None] = ContextVar("running", default=None)
"""The attempt whose handler runs here; set in the handler's own context."""


def configure(
    log_format: LogFormat = "auto", level: str = "info", *, to: TextIO | None = None
) -> None:
    """Send every log line of this process to standard error, or to another stream.

    `auto` is console on a terminal and JSON elsewhere. Lines for people are coloured on a
    terminal, or if FORCE_COLOR is set because another program shows them on one. Calling it
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
        _add_attempt_fields,
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


def attempt_fields() -> Mapping[str, object]:
    """Return the `FIELDS` that are known now; none outside of handlers and spans."""
    row = running.get()
    if row is None:
        return tracecontext.log_fields()
    return {
        "job": row.job_id,
        "queue": row.queue,
        "tenant": row.tenant,
        "attempt": row.attempt,
        **tracecontext.log_fields(),
    }


def _add_attempt_fields(
    _logger: object, _method: str, event: structlog.types.EventDict
) -> structlog.types.EventDict:
    """Add the fields of the attempt to a line that does not have them."""
    for name, value in attempt_fields().items():
        event.setdefault(name, value)
    return event


class JobFilter(logging.Filter):
    """Gives each record that passes an attribute for each of `FIELDS`, for formatters to show.

    Unknown fields are None, so that `%(job)s` works outside of handlers, too. Attributes that a
    record already has, by `extra` for example, stay. The worker adds a filter to every handler
    of `logging` that exists once the application is loaded; a later handler needs its own.
    """

    def filter(self, record: logging.LogRecord) -> bool:
        """Let the record pass."""
        known = attempt_fields()
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


def get(name: str) -> Logger:
    """Return the logger of one part of the program; its name is on every line."""
    logger: Logger = structlog.get_logger(part=name)
    return logger


def print_by_line() -> None:
    """Make standard output line-buffered, even into a pipe or a file.

    What a handler prints should be visible while it runs, and a killed process loses what is
    still in its buffer. A repeat is harmless.
    """
    output: object = sys.stdout
    if isinstance(output, io.TextIOWrapper):
        output.reconfigure(line_buffering=True)
