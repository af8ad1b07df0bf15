"""A sample of seeds, and that a line replays its seed."""

import os
import subprocess
import sys

import pytest

from tests.simulation.seeds import STEPS, simulate
from tests.simulation.variants import VARIANTS

LEADER, AUTOSCALER = (0, 1, 2, 4), range(4)
FOUND = (5, 6, 19, 22, 130)
"""Seeds of the leader that found what is mended."""
LATE = 213
"""In it a job that fell due before its commit has an id below the tail of any later leader."""


@pytest.mark.parametrize("seed", [*LEADER, *FOUND, LATE])
def test_the_leader_keeps_every_promise(seed: int) -> None:
    """Limits, rates, keys, pauses, shares, order and liveness, whatever goes wrong."""
    verdict = simulate("leader", seed)

    assert ("", True) == (verdict.broken, verdict.checked["leader"] > 0), verdict.line


@pytest.mark.parametrize("seed", AUTOSCALER)
def test_the_autoscaler_keeps_every_promise(seed: int) -> None:
    """No pod goes under a job, none is beyond the cap, and a pool neither flaps nor starves."""
    verdict = simulate("autoscaler", seed)

    assert ("", True) == (verdict.broken, verdict.checked["max"] > 0), verdict.line


def test_a_line_replays_its_seed() -> None:
    """The same steps break the same promise; fewer break none."""
    with VARIANTS[0].in_force():
        found = simulate("leader", 1)
        again = simulate("leader", 1, found.steps)
        before = simulate("leader", 1, found.steps // 2)

    assert found.broken
    assert found == again
    assert "" == before.broken
    assert f"python -m tests.simulation --seed 1 --steps {found.steps}" == found.line


def test_a_seed_is_the_same_in_every_process() -> None:
    """The hashes of texts, which differ from process to process, decide nothing."""
    ran = subprocess.run(
        [sys.executable, "-m", "tests.simulation", "--seed", "2"],
        env={
            **os.environ,
            "PYTHONHASHSEED": "7",
            "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
        },
        check=True,
        capture_output=True,
        text=True,
        timeout=100,
    )
    here = simulate("leader", 2, STEPS)

    assert f"{here.line}: every promise is kept\n" == ran.stdout
