"""A process that calculates beside a service is bounded."""

import os
import subprocess
import sys

import pytest

from tests.support import tree

_BOUND = "from fairlead.runtime.bounded_process import bound; bound({})\n"
_ENOUGH = "memory_bytes=512 << 20, cpu_seconds=9"


def run(bounds: str, program: str) -> "subprocess.CompletedProcess[str]":
    """Run a program that is bounded."""
    return subprocess.run(
        [sys.executable, "-c", _BOUND.format(bounds) + program],
        env={**os.environ, "PYTHONPATH": tree.SOURCES},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize(
    "program",
    [
        "bytearray(1 << 30)",
        "import os, sys; os.execv(sys.executable, ['p', '-c', 'bytearray(1 << 30)'])",
    ],
    ids=["itself", "what it becomes"],
)
def test_it_has_no_more_memory(program: str) -> None:
    """An allocation fails, before the kernel looks for somebody to kill."""
    ended = run(_ENOUGH, program)

    assert "MemoryError" in ended.stderr
    assert 0 == run(_ENOUGH, "bytearray(1 << 20)").returncode


def test_it_runs_last_and_not_for_ever() -> None:
    """The kernel ends it."""
    assert "19" == run(_ENOUGH, "import os; print(os.nice(0))").stdout.strip()
    assert run("memory_bytes=512 << 20, cpu_seconds=1", "while True: pass").returncode < 0
