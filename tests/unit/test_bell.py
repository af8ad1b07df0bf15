"""A bell ends one rest, however often it was rung, and is heard beside a socket."""

import fcntl
import os
import resource
import socket
from collections.abc import Iterator
from contextlib import ExitStack, closing
from select import select
from time import monotonic

import pytest

from fairlead.bell import Bell


@pytest.fixture
def bell() -> Iterator[Bell]:
    """Yield a bell, closed at the end."""
    with closing(Bell()) as made:
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


def heard(bell: Bell) -> bool:
    """Tell whether a wait would end at once."""
    return bool(select([bell.fileno()], [], [], 0)[0])


def test_a_ring_ends_the_next_wait_and_no_other(
    bell: Bell, pair: tuple[socket.socket, socket.socket]
) -> None:
    """Rung thrice before anybody waits, it is heard once."""
    for _ in range(3):
        bell.ring()
    began = monotonic()

    bell.wait(60, beside=pair[0].fileno())

    assert not heard(bell)
    assert monotonic() - began < 30


def test_a_wait_ends_when_something_comes_beside_it(
    bell: Bell, pair: tuple[socket.socket, socket.socket]
) -> None:
    """A notification of the database is one."""
    pair[1].send(b"!")
    began = monotonic()

    bell.wait(60, beside=pair[0].fileno())

    assert monotonic() - began < 30


def test_a_bell_that_nobody_hears_never_blocks_whoever_rings(bell: Bell) -> None:
    """Signal handlers ring it, and they must return."""
    for _ in range(100_000):
        bell.ring()

    bell.hush()

    assert not heard(bell)


def test_a_signals_descriptor_rings_it(bell: Bell) -> None:
    """`signal.set_wakeup_fd` writes a byte to it."""
    os.write(bell.signal_descriptor(), b"\x0f")

    assert heard(bell)


def test_a_connection_among_thousands_of_files_is_waited_for(
    bell: Bell, pair: tuple[socket.socket, socket.socket], beyond: int
) -> None:
    """A worker whose handlers have them open connects anew, and hears what comes."""
    began = monotonic()

    bell.wait(0.01, beside=beyond)
    bell.ring()
    bell.wait(60, beside=beyond)
    assert not heard(bell)
    pair[1].send(b"!")
    bell.wait(60, beside=beyond)

    assert monotonic() - began < 30
