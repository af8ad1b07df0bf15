"""What this process logs while a test runs."""

import io
import json
from collections.abc import Generator
from contextlib import contextmanager

import structlog

from fairlead.runtime import log

Line = dict[str, object]


class Lines:
    """What was logged, as JSON."""

    def __init__(self, stream: io.StringIO) -> None:
        self._stream = stream

    def __call__(self) -> list[Line]:
        """Return the lines since it was called last."""
        text = self._stream.getvalue()
        self._stream.seek(0)
        self._stream.truncate()
        return [json.loads(line) for line in text.splitlines()]

    def count(self, event: str) -> int:
        """Return how many lines since the last call are this event."""
        return sum(line["event"] == event for line in self())


@contextmanager
def logging() -> Generator[Lines]:
    """Take what is logged while inside, and log as before afterwards."""
    stream = io.StringIO()
    log.configure("json", to=stream)
    try:
        yield Lines(stream)
    finally:
        structlog.reset_defaults()
