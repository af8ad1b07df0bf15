"""Where `fairlead dev` says what happens: a terminal that may be closed while the fleet runs.

Output that has lost its reader is dropped. A thread that passes a program's lines on must
not fail over them: the program would block at a full pipe, and no thread would stop the fleet.
"""

import threading
from typing import IO

from rich.console import Console
from rich.markup import escape

_STYLES = ("cyan", "green", "magenta", "yellow", "blue")


class Terminal:
    """Prints to standard error, or to another stream, for as long as it has a reader.

    Any thread may print.
    """

    def __init__(self, stream: IO[str] | None = None) -> None:
        self._console = _Console(file=stream, stderr=stream is None, soft_wrap=True)
        self._styles: dict[str, str] = {}
        self._turn = threading.Lock()

    @property
    def coloured(self) -> bool:
        """Whether what is printed may have colours."""
        return self._console.is_terminal and not self._console.no_color

    def say(self, text: str) -> None:
        """Print a text with rich's markup."""
        self._print(text, markup=True)

    def refuse(self, sentence: str) -> None:
        """Print what is wrong, as every command does."""
        self._print(f"fairlead: {sentence}", markup=False)

    def of_program(self, name: str, line: str) -> None:
        """Print a program's line behind its name, in a colour of its own."""
        with self._turn:
            style = self._styles.setdefault(name, _STYLES[len(self._styles) % len(_STYLES)])
            self._print(f"[{style}]{name:>11}[/] {escape(line)}", markup=True)

    def _print(self, text: str, *, markup: bool) -> None:
        try:
            self._console.print(text, markup=markup, highlight=False)
        except OSError:  # it has lost its reader, and so has what comes after it
            self._console.quiet = True


class _Console(Console):
    def on_broken_pipe(self) -> None:
        """Say no more. Rich would end the program, or the thread, that prints."""
        self.quiet = True
