"""The signals that end a service."""

import os
import signal
import threading

import pytest

from fairlead.service import stopping


@pytest.mark.parametrize(
    ("signals", "asked"),
    [
        ([], (False, False)),
        ([signal.SIGTERM], (True, False)),
        ([signal.SIGINT], (True, False)),
        ([signal.SIGTERM, signal.SIGINT], (True, True)),
        ([signal.SIGHUP], (True, False)),
        ([signal.SIGHUP, signal.SIGHUP], (True, False)),
        ([signal.SIGHUP, signal.SIGTERM], (True, True)),
    ],
)
def test_the_first_signal_stops_and_the_second_hurries(
    signals: list[signal.Signals], asked: tuple[bool, bool]
) -> None:
    """A closed terminal stops too, and tells it more than once without being in a hurry."""
    stop, again = threading.Event(), threading.Event()

    with stopping(stop=stop, again=again):
        for number in signals:
            os.kill(os.getpid(), number)

    assert asked == (stop.is_set(), again.is_set())


def test_a_service_under_nohup_outlives_its_terminal() -> None:
    """A process that is started with SIGHUP ignored, as by nohup, keeps running."""
    stop, former = threading.Event(), signal.signal(signal.SIGHUP, signal.SIG_IGN)

    try:
        with stopping(stop=stop, again=threading.Event()):
            os.kill(os.getpid(), signal.SIGHUP)
    finally:
        signal.signal(signal.SIGHUP, former)

    assert not stop.is_set()
