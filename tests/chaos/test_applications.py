"""Applications do to jobs whatever they may, in transactions of every sort, and nobody waits.

A lane goes on past what others have locked, and leaves no job behind for long; an INSERT takes
no longer than an upgrade keeps its locks; what is committed late is found.
"""

import random
from collections.abc import Iterator
from pathlib import Path
from time import time

import pytest

from fairlead import policy_storage
from fairlead_cli.dev.postgres import Server
from tests.chaos import applications
from tests.chaos.applications import POLICY, Told, applying
from tests.chaos.fail_overs.series import SHIPPED
from tests.chaos.fleet import Fleet, fleet
from tests.chaos.misfortunes import LONG_SECONDS
from tests.chaos.repeats.faults import wait
from tests.support.databases import FAST, fast_folder, running_server
from tests.support.delays import delays
from tests.support.waiting import until

pytestmark = [pytest.mark.long, pytest.mark.timeout(LONG_SECONDS + 300)]

_SERVER = {**FAST, "max_prepared_transactions": "20", "deadlock_timeout": "1s"}
_SCAN_SECONDS = 2
_STALL_SECONDS = 10.0
"""A lane's next job begins within so long: a few scans."""
_INSERT_SECONDS = 1.0
"""A migration waits 0.2 s for a lock before it lets others go first."""
_SECONDS = min(LONG_SECONDS, 90)


@pytest.fixture
def preparing(migrated_data: Path) -> Iterator[Server]:
    """Yield a migrated server that prepares transactions."""
    with running_server(_SERVER, within=fast_folder(), data=migrated_data) as running:
        yield running


@pytest.fixture
def some(preparing: Server, tmp_path: Path) -> Iterator[Fleet]:
    """Yield a fleet over it."""
    often = {**SHIPPED, "FAIRLEAD_SCAN_SECONDS": str(_SCAN_SECONDS)}
    with fleet(preparing.url, tmp_path, often) as made:
        made.record()
        yield made


def test_whatever_applications_do_each_lane_goes_on(some: Fleet, chance: random.Random) -> None:
    """Jobs that may run do, each once; what was deleted leaves nothing behind."""
    made = some
    with made.connect() as db:
        policy_storage.store(db, POLICY, reason="chaos")
    made.scheduler()
    made.worker(concurrency=20)
    with made.connect() as asked, delays(asked) as slowest:
        with applying(made.url, chance) as told:
            wait(_SECONDS)
        until_at = ended(made, told)
        machine = slowest()
    made.inserted |= {*told.jobs} - told.gone

    print(told.happened, len(told.jobs), machine)  # noqa: T201 - what happened, beside the seed
    starts: dict[int, float] = {}
    for each in made.events():
        if each.event == "started":
            starts.setdefault(each.job, each.at)
    free = {job: told.jobs[job] for job in {*told.jobs} - told.gone - told.blocked}
    longest = _STALL_SECONDS + machine
    assert [] == told.wrong
    assert made.violations().is_empty, made.violations()
    assert {} == applications.stalls(free, starts, until_at=until_at, longer_than=longest)
    assert {} == applications.overtaken(free, starts, until_at=until_at, longer_than=longest)
    assert max(told.probes) <= _INSERT_SECONDS + machine


def ended(made: Fleet, told: Told) -> float:
    """Wait until all has ended that nothing holds up, or nothing of it begins; return when."""
    left: list[tuple[int, float]] = []

    def nothing_more() -> bool:
        count = len({*made.unfinished()} - told.blocked)
        if not left or count != left[-1][0]:
            left.append((count, time()))
        return not count or time() - left[-1][1] > 3 * _STALL_SECONDS

    until(nothing_more, what="the end of all jobs", seconds=240)
    return time()
