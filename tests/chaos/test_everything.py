"""Everything fails, again and again, in an order that the seed decides."""

import os
import random
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from time import monotonic, time

import pytest

from fairlead.dev.postgres import Server
from tests.chaos import records
from tests.chaos.app import BOOKS
from tests.chaos.fleet import LEASE_SECONDS, RECOVERY_SECONDS, Fleet, Program
from tests.support.waiting import until

_LONG_SECONDS = float(os.environ.get("FAIRLEAD_TEST_CHAOS_SECONDS", "240"))
_WORKERS, _SCHEDULERS = 3, 2
_BACKLOG = 300


class Misfortunes:
    """What may happen to a fleet, one at a time; each leaves as many programs as there were.

    Args:
        fleet: the fleet.
        server: its server.
        chance: decides what, whom and when.
    """

    def __init__(self, fleet: Fleet, server: Server, chance: random.Random) -> None:
        self._fleet = fleet
        self._server = server
        self._chance = chance
        self._started = 0
        self.deaths: list[tuple[tuple[int, ...], float]] = []
        """The processes of each worker that was killed, and when."""
        self.ends: list[float] = []
        """When each misfortune was over."""
        self.happened = Counter[str]()
        self._schedulers = [self._scheduler() for _ in range(_SCHEDULERS)]
        self._workers = [self._worker() for _ in range(_WORKERS)]
        self._kinds: tuple[Callable[[], None], ...] = (
            self.kill_a_worker,
            self.kill_a_child,
            self.kill_a_process,
            self.freeze_a_worker,
            self.stop_a_worker,
            self.kill_a_scheduler,
            self.freeze_a_scheduler,
            self.cut_connections,
            self.kill_the_server,
        )

    def happen(self) -> None:
        """Let one of them happen."""
        kind = self._chance.choice(self._kinds)
        kind()
        self.ends.append(time())
        self.happened[kind.__name__] += 1

    def stop_all(self) -> None:
        """Ask every program to stop."""
        for program in (*self._workers, *self._schedulers):
            assert 0 == program.stop(), program.name

    def kill_a_worker(self) -> None:
        """End one with SIGKILL and start another."""
        self.deaths.append((self._drawn(self._workers).kill(), time()))
        self._workers.append(self._worker())

    def kill_a_child(self) -> None:
        """End a child with SIGKILL; its parent starts another."""
        worker = self._chance.choice(self._workers)
        until(lambda: len(worker.family()) > 1, what="a child", seconds=30)
        with suppress(ProcessLookupError):  # it died by itself, a moment ago
            worker.kill_child(self._chance)

    def kill_a_process(self) -> None:
        """End a process that a handler has for itself with SIGKILL, if there is one."""
        self._chance.choice(self._workers).kill_grandchild(self._chance)

    def freeze_a_worker(self) -> None:
        """Stop one for less or more than its lease, and let it go on."""
        self._freeze(self._chance.choice(self._workers), 2 * LEASE_SECONDS)

    def stop_a_worker(self) -> None:
        """Ask one to stop, with a short grace, and start another."""
        assert 0 == self._drawn(self._workers).stop()
        self._workers.append(self._worker())

    def kill_a_scheduler(self) -> None:
        """End one with SIGKILL, the leader or the standby, and start another."""
        self._drawn(self._schedulers).kill()
        self._schedulers.append(self._scheduler())

    def freeze_a_scheduler(self) -> None:
        """Stop one for less or more than its lease, and let it go on."""
        self._freeze(self._chance.choice(self._schedulers), 5.0)

    def cut_connections(self) -> None:
        """Terminate some kinds of connections."""
        for kind in sorted(self._fleet.connection_kinds()):
            if self._chance.random() < 0.3:
                self._fleet.terminate(kind)

    def kill_the_server(self) -> None:
        """End PostgreSQL with SIGKILL and start it again."""
        self._server.kill()
        self._server.start()

    def _freeze(self, program: Program, seconds_max: float) -> None:
        over = monotonic() + self._chance.uniform(0.2, seconds_max)
        program.freeze()
        try:
            until(lambda: monotonic() >= over, what="a thaw", seconds=seconds_max + 1)
        finally:
            program.thaw()

    def _drawn(self, programs: list[Program]) -> Program:
        return programs.pop(self._chance.randrange(len(programs)))

    def _scheduler(self) -> Program:
        self._started += 1
        return self._fleet.scheduler(f"scheduler-{self._started}")

    def _worker(self) -> Program:
        self._started += 1
        processes = self._chance.choice((1, 1, 2))
        more = f"--grace-seconds 1 --processes {processes}"
        return self._fleet.worker(f"worker-{self._started}", concurrency=6, more=more)


def begin_some(fleet: Fleet, chance: random.Random) -> None:
    """Insert jobs of every length once the last are nearly done; wait until some started."""
    until(lambda: len(fleet.unfinished()) < _BACKLOG, what="the end of most jobs", seconds=60)
    jobs = fleet.insert("nap", chance.randrange(1, 60), chance.randrange(50, 300))
    jobs += fleet.insert("grind", chance.randrange(1, 30), chance.randrange(5, 60))
    jobs += fleet.insert("crunch", chance.randrange(1, 100), chance.randrange(1, 10))
    for kind in sorted(BOOKS):
        jobs += fleet.insert(kind, chance.randrange(1, 60), chance.randrange(1, 15))
        jobs += fleet.insert(kind, chance.randrange(500, 3000), 1)
    jobs += fleet.insert("nap", chance.randrange(500, 3000), chance.randrange(1, 4))
    jobs += fleet.insert("deaf", chance.randrange(500, 2500), 1)
    fleet.await_starts(jobs, chance.randrange(1, len(jobs) // 2))


def recovery_seconds(fleet: Fleet, misfortunes: Misfortunes) -> float:
    """Return the longest time from a death, or whatever came after it, to the restarts."""
    with fleet.connect() as connection:
        resets = (*records.take_overs(connection), *misfortunes.ends)
    slowest = (fleet.recovery_seconds(*death, resets=resets) for death in misfortunes.deaths)
    return max(slowest, default=0.0)


def report(fleet: Fleet, misfortunes: Misfortunes) -> str:
    """Say what happened, and what came of it."""
    with fleet.connect() as connection:
        effects = len(records.effects(connection))
    outcomes = Counter(each.outcome for each in fleet.ended())
    events = Counter(each.event for each in fleet.events())
    return (
        f"{misfortunes.happened.total()} misfortunes: {dict(misfortunes.happened)}\n"
        f"{len(fleet.inserted)} jobs: {dict(outcomes)}; {fleet.verdict()}\n"
        f"{len(fleet.booked)} in their handlers' own transactions, {effects} effects\n"
        f"handlers' events: {dict(events)}\n"
        f"slowest recovery: {recovery_seconds(fleet, misfortunes):.2f} s"
    )


@pytest.mark.long
@pytest.mark.timeout(_LONG_SECONDS + 300)
def test_nothing_is_lost_whatever_fails(
    own_fleet: Fleet, own_server: Server, chance: random.Random
) -> None:
    """0 lost, 0 finished twice, 0 stale writes applied, over minutes of every misfortune."""
    misfortunes = Misfortunes(own_fleet, own_server, chance)
    over = monotonic() + _LONG_SECONDS
    while monotonic() < over:
        begin_some(own_fleet, chance)
        misfortunes.happen()

    own_fleet.wait_until_done(120)
    misfortunes.stop_all()

    print(report(own_fleet, misfortunes))  # noqa: T201 - a person wants to know
    assert own_fleet.verdict().clean, own_fleet.verdict()
    assert misfortunes.happened.total() > 0
    assert recovery_seconds(own_fleet, misfortunes) <= RECOVERY_SECONDS
