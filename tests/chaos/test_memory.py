"""The kernel kills what wants more memory than there is; only the job that did pays for it."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.chaos.fleet import Fleet, fleet
from tests.chaos.memory import Confined, confined, lacking
from tests.support.waiting import until

pytestmark = [
    pytest.mark.long,
    pytest.mark.timeout(300),
]

_MIB = 512
"""A worker and its processes need less than half of it."""
_DEATHS = 4
"""A job that dies beside others runs alone from then on, and is given up after three more."""


@pytest.fixture
def tight(database_url: str, tmp_path: Path) -> Iterator[tuple[Fleet, Confined]]:
    """Yield a fleet, and little memory for those of its programs that are started within."""
    why = lacking()
    if why is not None:
        pytest.skip(why)
    with confined(_MIB) as group, fleet(database_url, tmp_path) as made:
        made.record()
        yield made, group


def test_a_handler_that_takes_all_memory_ends_alone(tight: tuple[Fleet, Confined]) -> None:
    """Its process is killed, and its worker goes on; the jobs beside it all succeed."""
    made, group = tight
    made.scheduler()
    made.within = group.within
    worker = made.worker()
    made.await_lead()
    beside = made.insert("nap", 300, 30) + made.insert("book", 100, 10)
    beside += made.insert("crunch", 200, 4)
    made.await_starts(beside, 5)
    (glutton,) = made.insert("glutton", 0)
    beside += made.insert("nap", 300, 30)
    until(lambda: group.kills() > 0, what="a kill", seconds=60)

    made.wait_until_done(120)

    assert made.violations().is_empty, made.violations()
    outcomes = {each.job: each.outcome for each in made.ended()}
    assert "failed" == outcomes.pop(glutton)
    assert {*beside} == {*outcomes}
    assert {"succeeded"} == {*outcomes.values()}
    starts = [each for each in made.events() if (each.event, each.job) == ("started", glutton)]
    assert _DEATHS == len(starts) <= group.kills()
    assert [] == made.errors("lost")
    assert worker.process.poll() is None
