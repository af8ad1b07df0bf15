"""Faults injected into a fleet, in an order that the seed decides."""

import os
import random
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from time import monotonic, time

from fairlead_cli.dev.postgres import Server
from tests.chaos import records
from tests.chaos.fleet import LEASE_SECONDS, Fleet, Program
from tests.chaos.history import Resets
from tests.support.waiting import until

LONG_SECONDS = float(os.environ.get("FAIRLEAD_TEST_CHAOS_SECONDS", "240"))
"""Seconds of faults in a long test."""
_WORKERS, _SCHEDULERS = 3, 2
Death = tuple[tuple[int, ...], float]
"""The processes of a killed worker, and the time."""


class Misfortunes:
    """Injects one fault at a time; each leaves as many programs as before.

    Args:
        fleet: The fleet.
        server: Its server.
        chance: Decides which fault, on which program and when.
    """

    def __init__(self, fleet: Fleet, server: Server, chance: random.Random) -> None:
        self._fleet = fleet
        self._server = server
        self._chance = chance
        self._started = 0
        self.deaths: list[Death] = []
        self.ends: list[float] = []
        """When each fault was over."""
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
        """Inject one fault."""
        kind = self._chance.choice(self._kinds)
        kind()
        self.ends.append(time())
        self.happened[kind.__name__] += 1

    def stop_all(self) -> None:
        """Ask every program to stop."""
        for program in (*self._workers, *self._schedulers):
            assert 0 == program.stop(), program.name

    def kill_a_worker(self) -> None:
        """Kill a worker with SIGKILL and start another."""
        self.deaths.append((self._drawn(self._workers).kill(), time()))
        self._workers.append(self._worker())

    def kill_a_child(self) -> None:
        """Kill a child with SIGKILL; its parent starts another."""
        worker = self._chance.choice(self._workers)
        with suppress(ProcessLookupError):  # it died by itself, a moment ago
            worker.kill_child(self._chance)

    def kill_a_process(self) -> None:
        """Kill an isolated handler process with SIGKILL, if there is one."""
        self._chance.choice(self._workers).kill_grandchild(self._chance)

    def freeze_a_worker(self) -> None:
        """Stop a worker for less or more than its lease, then continue it."""
        self._freeze(self._chance.choice(self._workers), 2 * LEASE_SECONDS)

    def stop_a_worker(self) -> None:
        """Ask a worker to stop, with a short grace, and start another."""
        assert 0 == self._drawn(self._workers).stop()
        self._workers.append(self._worker())

    def kill_a_scheduler(self) -> None:
        """Kill the leader or the standby with SIGKILL, and start another."""
        self._drawn(self._schedulers).kill()
        self._schedulers.append(self._scheduler())

    def freeze_a_scheduler(self) -> None:
        """Stop a scheduler for less or more than its lease, then continue it."""
        self._freeze(self._chance.choice(self._schedulers), 5.0)

    def cut_connections(self) -> None:
        """Terminate some kinds of connections."""
        for kind in sorted(self._fleet.connection_kinds()):
            if self._chance.random() < 0.3:
                self._fleet.terminate(kind)

    def kill_the_server(self) -> None:
        """Kill PostgreSQL with SIGKILL and start it again."""
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


def recovery_seconds(
    fleet: Fleet,
    deaths: Collection[Death],
    ends: Collection[float] = (),
    dispatches: Mapping[int, Collection[float]] | None = None,
) -> float:
    """Return the longest time from a death, or the last fault after it, to the restarts.

    Args:
        fleet: The fleet.
        deaths: Deaths of its workers.
        ends: When other faults were over.
        dispatches: Dispatches of jobs, where a policy may have recalled them meanwhile.
    """
    with fleet.connect() as connection:
        resets = Resets((*records.take_overs(connection), *ends), dispatches or {})
    slowest = (fleet.recovery_seconds(*death, resets=resets) for death in deaths)
    return max(slowest, default=0.0)


def leading(fleet: Fleet, schedulers: Sequence[Program]) -> Program:
    """Return the leader, once there is one."""

    def found() -> Program | None:
        pid = fleet.leader_pid()
        return next((each for each in schedulers if each.pid == pid), None)

    return until(found, what="a leader", seconds=15)


def report(fleet: Fleet, misfortunes: Misfortunes) -> str:
    """Return the faults and their results as text."""
    with fleet.connect() as connection:
        effects = len(records.effects(connection))
        changes = len(records.steps(connection))
    slowest = recovery_seconds(fleet, misfortunes.deaths, misfortunes.ends)
    outcomes = Counter(each.outcome for each in fleet.ended())
    events = Counter(each.event for each in fleet.events())
    return (
        f"{misfortunes.happened.total()} misfortunes: {dict(misfortunes.happened)}\n"
        f"{len(fleet.inserted)} jobs: {dict(outcomes)}; {fleet.violations()}\n"
        f"{len(fleet.booked)} in their handlers' own transactions, {effects} effects\n"
        f"{changes} changes of jobs' places and of leases, replayed against the model\n"
        f"handlers' events: {dict(events)}\n"
        f"slowest recovery: {slowest:.2f} s"
    )
