"""A wake-up ends one rest, however often it was sent, and a wait covers a socket as well."""

import fcntl
import os
import resource
import signal
import socket
from collections.abc import Iterator
from contextlib import ExitStack, closing
from select import select
from time import monotonic

import pytest

from fairlead.runtime.wakeup import Wakeup


@pytest.fixture
def wakeup() -> Iterator[Wakeup]:
    """Yield a wakeup, closed at the end."""
    with closing(Wakeup()) as made:
        yield made


@pytest.fixture
def pair() -> Iterator[tuple[socket.socket, socket.socket]]:
    """Yield two ends of a quiet connection."""
    with ExitStack() as opened:
        here, there = socket.socketpair()
        yield opened.enter_context(here), opened.enter_context(there)


@pytest.fixture
def beyond(pair: tuple[socket.socket, socket.socket]) -> Iterator[int]:
    """Yield the first end under a number that `select` does not know."""
    former, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(most, 4096), most))
    descriptor = fcntl.fcntl(pair[0], fcntl.F_DUPFD, 1024)
    yield descriptor
    os.close(descriptor)
    resource.setrlimit(resource.RLIMIT_NOFILE, (former, most))


def heard(wakeup: Wakeup) -> bool:
    """Tell whether a wait would end at once."""
    return bool(select([wakeup.fileno()], [], [], 0)[0])


def test_a_wakeup_ends_the_next_wait_and_no_other(
    wakeup: Wakeup, pair: tuple[socket.socket, socket.socket]
) -> None:
    """Woken three times before a wait, it ends one wait."""
    for _ in range(3):
        wakeup.wake()
    began = monotonic()

    wakeup.wait(60, beside=pair[0].fileno())

    assert not heard(wakeup)
    assert monotonic() - began < 30


def test_a_wait_ends_when_something_comes_beside_it(
    wakeup: Wakeup, pair: tuple[socket.socket, socket.socket]
) -> None:
    """A notification of the database is one."""
    pair[1].send(b"!")
    began = monotonic()

    wakeup.wait(60, beside=pair[0].fileno())

    assert monotonic() - began < 30


def test_a_wakeup_without_a_waiter_never_blocks_its_sender(wakeup: Wakeup) -> None:
    """Signal handlers send them, and they must return."""
    for _ in range(100_000):
        wakeup.wake()

    wakeup.clear()

    assert not heard(wakeup)


def test_a_signal_wakes_it_within_the_block_alone(wakeup: Wakeup) -> None:
    """Whatever its handler does."""
    former = signal.signal(signal.SIGUSR1, lambda _number, _frame: None)
    try:
        with wakeup.by_signals():
            signal.raise_signal(signal.SIGUSR1)
        within = heard(wakeup)
        wakeup.clear()
        signal.raise_signal(signal.SIGUSR1)
    finally:
        signal.signal(signal.SIGUSR1, former)

    assert within
    assert not heard(wakeup)


def test_a_connection_among_thousands_of_files_is_waited_for(
    wakeup: Wakeup, pair: tuple[socket.socket, socket.socket], beyond: int
) -> None:
    """A worker whose handlers have them open connects anew, and hears what comes."""
    began = monotonic()

    wakeup.wait(0.01, beside=beyond)
    wakeup.wake()
    wakeup.wait(60, beside=beyond)
    assert not heard(wakeup)
    pair[1].send(b"!")
    wakeup.wait(60, beside=beyond)

    assert monotonic() - began < 30
