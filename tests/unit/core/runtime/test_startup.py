"""A service that is asked to stop in its first moments exits with 0."""

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.waiting import until

_LOADED = "libpq"
"""A library that each program loads long before it serves."""


@pytest.mark.skipif(
    not Path("/proc/self/maps").exists(), reason="only Linux says what a process has loaded"
)
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
@pytest.mark.parametrize(
    "words",
    [
        ["fairlead_scheduler.main"],
        ["fairlead_autoscaler.main"],
        ["fairlead_worker.main", "--app", "tests.support.child_app:tasks"],
    ],
    ids=lambda words: str(words[0]),
)
def test_a_signal_while_it_loads_what_it_needs(words: list[str], number: int) -> None:
    """It was 143 then, which a supervisor counts as a failure."""
    starting = subprocess.Popen([sys.executable, "-m", *words])
    try:
        maps = Path(f"/proc/{starting.pid}/maps")
        until(lambda: _LOADED in maps.read_text(), what="the driver being loaded", seconds=60)
        starting.send_signal(number)

        assert 0 == starting.wait(30)
    finally:
        starting.kill()
        starting.wait()
