"""The rest of a command that watches ends with a signal, whenever that comes."""

import os
import pty
import select
import signal
import threading
from collections.abc import Generator, Sequence
from time import monotonic

import pytest

from fairlead_cli.output import quit_key

SECONDS = 10


@pytest.fixture
def _own_terminal(monkeypatch: pytest.MonkeyPatch) -> Generator[None]:
    """Have standard input be a terminal with this process in its foreground."""

    def foreground(_descriptor: int) -> int:
        return os.getpgrp()

    end, terminal = pty.openpty()
    with os.fdopen(terminal) as stdin:
        monkeypatch.setattr("sys.stdin", stdin)
        monkeypatch.setattr(os, "tcgetpgrp", foreground)
        yield
    os.close(end)


@pytest.mark.usefixtures("_own_terminal")
def test_a_signal_that_interrupts_no_wait_ends_the_rest(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """One just before the wait, or in another thread, as here: the main one handles it."""
    rests, waits = threading.Event(), select.select

    def resting(
        readable: Sequence[int], _writable: list[int], _failed: list[int], seconds: float
    ) -> object:
        rests.set()
        return waits(readable, [], [], seconds)

    def interrupt() -> None:
        rests.wait(SECONDS)
        signal.pthread_kill(threading.get_ident(), signal.SIGINT)

    monkeypatch.setattr(select, "select", resting)
    began = monotonic()
    other = threading.Thread(target=interrupt)
    other.start()
    with quit_key.watched() as rest, pytest.raises(KeyboardInterrupt):
        rest(SECONDS)
    other.join()

    assert monotonic() - began < SECONDS
