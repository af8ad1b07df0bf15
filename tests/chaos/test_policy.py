"""Limits, a rate, bands and a key hold at every instant, whatever fails, while they change."""

import random
from functools import partial
from time import monotonic, time

import pytest

from fairlead import policy_storage
from fairlead_cli.dev.postgres import Server
from tests.chaos import ruled
from tests.chaos.fleet import BUSY_RECOVERY_SECONDS, RECOVERY_SECONDS, Fleet, Program
from tests.chaos.misfortunes import (
    LONG_SECONDS,
    Death,
    Misfortunes,
    leading,
    recovery_seconds,
    report,
)
from tests.chaos.ruled import LIMITED, PRIORITIES, RATED, Allowed
from tests.support.waiting import until

_RATED_JOBS = 8
_LIMITED_JOBS = 60
_KINDS = ("nap", "grind", "book", "book_async")


class Reign:
    """A fleet under a policy that is edited, with work that all of it is about.

    Args:
        fleet: without programs.
        chance: draws the edits and the work.
    """

    def __init__(self, fleet: Fleet, chance: random.Random) -> None:
        self._fleet = fleet
        self._chance = chance
        self._versions: dict[int, Allowed] = {}
        self._rated: tuple[int, ...] = ()
        with fleet.connect() as db:
            ruled.begin(db)
        self.edit()

    def edit(self) -> None:
        """Store another version."""
        self._store(ruled.drawn(self._chance))

    def ease(self) -> None:
        """Store one that has no limit but the rate, so that what is left may end."""
        self._store(ruled.EASE)

    def _store(self, allowed: Allowed) -> None:
        with self._fleet.connect() as db:
            stored = policy_storage.store(db, ruled.document(allowed), reason="chaos")
        self._versions[stored.version] = allowed

    def press(self) -> None:
        """Have more work there than limits and the rate let go, and wait until some started."""
        fleet, chance, unfinished = self._fleet, self._chance, {*self._fleet.unfinished()}
        lacking = _RATED_JOBS - len(unfinished.intersection(self._rated))
        if lacking > 0:
            self._rated += fleet.insert("nap", 20, lacking, queue=RATED, priorities=PRIORITIES)
        jobs: tuple[int, ...] = ()
        while len(unfinished) + len(jobs) < _LIMITED_JOBS + _RATED_JOBS:
            kind, milliseconds = chance.choice(_KINDS), chance.randrange(10, 120)
            jobs += fleet.insert(kind, milliseconds, 15, queue=LIMITED, priorities=PRIORITIES)
        if jobs:
            fleet.await_starts(jobs, 1)

    def over(self) -> list[str]:
        """Return what no version allowed that may have been in force."""
        with self._fleet.connect() as db:
            found = ruled.dispatches(db)
        assert {LIMITED, RATED} == {each.queue for each in found}
        return ruled.over(found, self._versions)

    def dispatches(self) -> dict[int, list[float]]:
        """Return when each job was dispatched: anew, where another version has recalled it."""
        with self._fleet.connect() as db:
            return ruled.times(db)


class Blows:
    """What befalls the fleet in the short form, once each, in an order that is drawn."""

    def __init__(self, fleet: Fleet, reign: Reign) -> None:
        self._fleet = fleet
        self._reign = reign
        self._schedulers = [fleet.scheduler("scheduler-1"), fleet.scheduler("scheduler-2")]
        self._workers = [self._worker(number) for number in (1, 2)]
        self.deaths: list[Death] = []

    def kill_a_worker(self) -> None:
        """End one that runs something with SIGKILL, and wait until others run it."""
        victim, _ = self._busy()
        self._workers.remove(victim)
        death = (victim.kill(), time())
        self._workers.append(self._worker(3))
        restarts = partial(self._fleet.recovery_seconds, *death)
        until(lambda: restarts() < float("inf"), what="every restart", seconds=20)
        self.deaths.append(death)

    def freeze_a_worker(self) -> None:
        """Stop one that runs something until others have its jobs, and let it go on."""
        victim, job = self._busy()
        process_tree = victim.process_tree()
        with victim.frozen():
            until(lambda: job in self._elsewhere(process_tree), what="the theft", seconds=20)

    def kill_the_leader(self) -> None:
        """End it with SIGKILL, and start another."""
        victim = self._leader()
        victim.kill()
        self._succeed()
        self._schedulers.append(self._fleet.scheduler("scheduler-3"))

    def freeze_the_leader(self) -> None:
        """Stop it until another leads, and let it go on."""
        victim = self._leader()
        with victim.frozen():
            self._succeed()
        self._schedulers.append(victim)

    def _leader(self) -> Program:
        """Take the leader out, with jobs in flight that the new leader has to count."""
        jobs = self._fleet.insert("nap", 3000, 3, queue=LIMITED, priorities=(60,))
        self._fleet.await_starts(jobs, 3)
        victim = leading(self._fleet, self._schedulers)
        self._schedulers.remove(victim)
        return victim

    def _succeed(self) -> None:
        """Add jobs and another policy while no scheduler leads; wait for the new leader."""
        self._reign.edit()
        self._fleet.insert("nap", 30, 20, queue=LIMITED, priorities=PRIORITIES)
        leading(self._fleet, self._schedulers)

    def _busy(self) -> tuple[Program, int]:
        """Return a worker that has begun a job of some seconds, and the job."""
        jobs = {*self._fleet.insert("nap", 2500, 2, queue=LIMITED, priorities=(60,))}

        def found() -> tuple[Program, int] | None:
            begun = ((each, self._fleet.jobs_of(each) & jobs) for each in self._workers)
            return next(((worker, min(some)) for worker, some in begun if some), None)

        return until(found, what="a start", seconds=20)

    def _elsewhere(self, process_tree: tuple[int, ...]) -> set[int]:
        starts = (each for each in self._fleet.events() if each.event == "started")
        return {each.job for each in starts if each.pid not in process_tree}

    def _worker(self, number: int) -> Program:
        return self._fleet.worker(f"worker-{number}", concurrency=12)


def test_no_limit_is_exceeded_while_workers_and_leaders_fail(
    some_fleet: Fleet, chance: random.Random
) -> None:
    """Never over a limit, a rate or a key, at any instant; 0 lost, twice or stale."""
    reign = Reign(some_fleet, chance)
    blows = Blows(some_fleet, reign)
    each_once = (
        blows.kill_a_worker,
        blows.freeze_a_worker,
        blows.kill_the_leader,
        blows.freeze_the_leader,
    )
    for blow in chance.sample(each_once, k=len(each_once)):
        reign.press()
        reign.edit()
        blow()

    some_fleet.wait_until_done(40)

    assert some_fleet.violations().is_empty, some_fleet.violations()
    assert [] == reign.over()
    slowest = recovery_seconds(some_fleet, blows.deaths, dispatches=reign.dispatches())
    assert 0 < slowest <= BUSY_RECOVERY_SECONDS


@pytest.mark.long
@pytest.mark.timeout(LONG_SECONDS + 400)
def test_no_limit_is_exceeded_whatever_fails(
    own_fleet: Fleet, own_server: Server, chance: random.Random
) -> None:
    """The same over minutes of every misfortune, the server's death among them."""
    reign = Reign(own_fleet, chance)
    misfortunes = Misfortunes(own_fleet, own_server, chance)
    over = monotonic() + LONG_SECONDS
    while monotonic() < over:
        reign.press()
        for kind in _KINDS:
            milliseconds = chance.randrange(500, 3000)
            own_fleet.insert(kind, milliseconds, queue=LIMITED, priorities=(60,))
        reign.edit()
        misfortunes.happen()

    # Each round has left seconds of work for the few slots that the policies allow.
    reign.ease()
    own_fleet.wait_until_done(200)
    misfortunes.stop_all()

    print(report(own_fleet, misfortunes))  # noqa: T201 - a person wants to know
    assert own_fleet.violations().is_empty, own_fleet.violations()
    assert [] == reign.over()
    deaths, ends = misfortunes.deaths, misfortunes.ends
    assert recovery_seconds(own_fleet, deaths, ends, reign.dispatches()) <= RECOVERY_SECONDS
