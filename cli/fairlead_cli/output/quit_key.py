"""The key that ends a command which watches: `q`, read without Enter."""

import os
import select
import sys
import threading
from collections.abc import Callable, Generator
from contextlib import closing, contextmanager
from time import monotonic

from fairlead.runtime.wakeup import Wakeup

Rest = Callable[[float], bool]
"""Rests so many seconds; true: sooner, since the key was pressed."""


@contextmanager
def watched() -> Generator[Rest]:
    """Yield a rest that the key ends, where standard input is this command's terminal.

    The terminal is as it was afterwards. Ctrl-C goes on interrupting.
    """
    terminal = _own_terminal()
    if terminal is None:
        yield no_key
        return
    import termios
    import tty

    former = termios.tcgetattr(terminal)
    tty.setcbreak(terminal)
    try:
        with closing(Wakeup()) as signals, signals.by_signals():
            yield lambda seconds: _pressed(terminal, signals, seconds)
    finally:
        termios.tcsetattr(terminal, termios.TCSADRAIN, former)


def no_key(seconds: float) -> bool:
    """Rest; no key ends it."""
    return threading.Event().wait(seconds)


def _own_terminal() -> int | None:
    """Return standard input if it is a terminal with this command in its foreground.

    A command in the background would be stopped for setting it up.
    """
    try:
        terminal = sys.stdin.fileno()
        return terminal if os.tcgetpgrp(terminal) == os.getpgrp() else None
    except (AttributeError, OSError, ValueError):  # none, closed, a file, or another system
        return None


def _pressed(terminal: int, signals: Wakeup, seconds: float) -> bool:
    """Wait so long for the key and pass others over; a terminal that is gone ends it too."""
    until = monotonic() + seconds
    while (left := until - monotonic()) > 0:
        signals.wait(left, beside=terminal)
        if select.select([terminal], [], [], 0)[0]:
            try:
                keys = os.read(terminal, 1024)
            except OSError:
                return True
            if not keys or b"q" in keys.lower():
                return True
    return False
