"""Where the demo's readings go: a live drawing on a terminal, lines elsewhere."""

from collections.abc import Callable, Generator
from contextlib import contextmanager

from rich.console import Console
from rich.live import Live

from examples.demo.watch import Reading, draw, line, policy_text, why

Show = Callable[[Reading], None]

_PLAIN_SECONDS = 2.0
_COLUMNS = 80


@contextmanager
def screen(console: Console, *, live: bool) -> Generator[Show]:
    """Yield what shows a reading, and clear the drawing at the end."""
    if not live:
        yield _Lines(console)
        return
    with Live(console=console, refresh_per_second=4, transient=True) as drawing:
        yield lambda reading: drawing.update(draw(reading))


class _Lines:
    """Prints a line every two seconds, and each event as it comes."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._events_said = 0
        self._next_seconds = 0.0

    def __call__(self, reading: Reading) -> None:
        for event in reading.events[self._events_said :]:
            self._say(event)
        self._events_said = len(reading.events)
        if reading.seconds >= self._next_seconds:
            self._say(line(reading))
            if reading.in_force is not None and reading.in_force.share is not None:
                self._say(f"{'':9}{policy_text(reading.in_force)}")
            if reading.scaled is not None:
                self._say(_cut(f"{'':9}{why(reading.scaled)}"))
            self._next_seconds = reading.seconds + _PLAIN_SECONDS

    def _say(self, text: str) -> None:
        self._console.print(text, highlight=False, soft_wrap=True)


def _cut(text: str) -> str:
    """Return as much of a line as fits."""
    return text if len(text) <= _COLUMNS else f"{text[: _COLUMNS - 1]}…"
