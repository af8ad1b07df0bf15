"""Everything fails, again and again, in an order that the seed decides."""

import random
from time import monotonic

import pytest

from fairlead_cli.dev.postgres import Server
from tests.chaos.app import TRANSACTIONAL
from tests.chaos.fleet import RECOVERY_SECONDS, Fleet
from tests.chaos.misfortunes import LONG_SECONDS, Misfortunes, recovery_seconds, report
from tests.support.waiting import until

_BACKLOG = 300


def begin_some(fleet: Fleet, chance: random.Random) -> None:
    """Insert jobs of every length once the last are nearly done; wait until some started."""
    until(lambda: len(fleet.unfinished()) < _BACKLOG, what="the end of most jobs", seconds=60)
    jobs = fleet.insert("nap", chance.randrange(1, 60), chance.randrange(50, 300))
    jobs += fleet.insert("grind", chance.randrange(1, 30), chance.randrange(5, 60))
    jobs += fleet.insert("crunch", chance.randrange(1, 100), chance.randrange(1, 10))
    for kind in sorted(TRANSACTIONAL):
        jobs += fleet.insert(kind, chance.randrange(1, 60), chance.randrange(1, 15))
        jobs += fleet.insert(kind, chance.randrange(500, 3000), 1)
    jobs += fleet.insert("nap", chance.randrange(500, 3000), chance.randrange(1, 4))
    jobs += fleet.insert("deaf", chance.randrange(500, 2500), 1)
    fleet.await_starts(jobs, chance.randrange(1, len(jobs) // 2))


@pytest.mark.long
@pytest.mark.timeout(LONG_SECONDS + 300)
def test_nothing_is_lost_whatever_fails(
    own_fleet: Fleet, own_server: Server, chance: random.Random
) -> None:
    """0 lost, 0 finished twice, 0 stale writes applied, over minutes of every misfortune."""
    misfortunes = Misfortunes(own_fleet, own_server, chance)
    over = monotonic() + LONG_SECONDS
    while monotonic() < over:
        begin_some(own_fleet, chance)
        misfortunes.happen()

    own_fleet.wait_until_done(120)
    misfortunes.stop_all()

    print(report(own_fleet, misfortunes))  # noqa: T201 - a person wants to know
    assert own_fleet.violations().is_empty, own_fleet.violations()
    assert misfortunes.happened.total() > 0
    assert recovery_seconds(own_fleet, misfortunes.deaths, misfortunes.ends) <= RECOVERY_SECONDS
