"""All promises of the fair order at once, whatever happens to it together.

Several pools, queues and tenants, with limits, rates, keys, bands, reserves, crashes, new
leaders and edits of the policy: each alone is the matter of the properties beside this one.
"""

import os
import subprocess
import sys
from collections import Counter
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.histories import Played, drawn

SEEDS = range(8)
_DIGESTS = (
    "from random import Random\n"
    "from tests.support.histories import Played, drawn\n"
    f"for seed in {SEEDS}: print(Played(drawn(Random(seed))).digest)\n"
)


@given(st.randoms(use_true_random=False))
def test_every_promise_is_kept_whatever_happens(random: Random) -> None:
    """Never over a limit, a rate or a key; no idle slot beside work; shares within the bound.

    And no tenant starves, nothing is lost, and no band goes before a higher one.
    """
    played = Played(drawn(random))
    played.drain()

    assert [] == played.referee.faults[:5]
    assert played.world.jobs.keys() == played.world.ended


def test_a_seed_determines_every_plan_and_each_promise_is_put_to_the_test() -> None:
    """Replay of a trace is deterministic by seed, in another process, too."""
    histories = [Played(drawn(Random(seed))) for seed in SEEDS]
    checked = sum((each.referee.checked for each in histories), Counter[str]())

    assert [each.digest for each in histories] == digests(hash_seed=7)
    assert {"limit", "rate", "key", "band", "idle", "share"} == set(+checked)


@pytest.mark.long
@pytest.mark.timeout(600)
@pytest.mark.parametrize("begin", range(0, 400, 100))
def test_every_promise_is_kept_in_hundreds_of_histories(begin: int) -> None:
    """As above, by seeds."""
    broken: list[str] = []
    for seed in range(begin, begin + 100):
        played = Played(drawn(Random(seed)))
        played.drain()
        broken += [f"seed {seed}: {fault}" for fault in played.referee.faults[:1]]
        if played.world.jobs.keys() != played.world.ended:
            broken.append(f"seed {seed}: jobs are lost")

    assert [] == broken


def digests(*, hash_seed: int) -> list[str]:
    """Return what a process with other hashes of texts plans by the same seeds."""
    paths = os.pathsep.join(filter(None, sys.path))
    found = subprocess.run(
        [sys.executable, "-c", _DIGESTS],
        env={**os.environ, "PYTHONHASHSEED": str(hash_seed), "PYTHONPATH": paths},
        check=True,
        capture_output=True,
        text=True,
        timeout=100,
    )
    return found.stdout.split()
