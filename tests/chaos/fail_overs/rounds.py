"""One fail-over after another of a fleet under load, each with its verdict."""

import random
import signal
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from time import monotonic, time
from typing import Literal, get_args

from psycopg.errors import OperationalError

from fairlead_cli.dev.postgres import Server
from tests.chaos.fail_overs import standing
from tests.chaos.fail_overs.orders import Orders
from tests.chaos.fail_overs.pair import Pair
from tests.chaos.fail_overs.verdicts import Excused, Verdict, judge, tail, timeline
from tests.chaos.fleet import Fleet, Program, send
from tests.chaos.history import Event
from tests.support.waiting import until

Kind = Literal["sync", "async", "planned"]
Beside = Literal[
    "nothing", "kill the leader", "freeze the leader", "kill a worker", "freeze a worker"
]
_BESIDE: tuple[Beside, ...] = get_args(Beside)
_OF_TWENTY = (16, 1, 1, 1, 1)
"""How often each of them happens in the same moment."""
_WORKERS, _SCHEDULERS = 2, 2
_LOAD_SECONDS = 1.5
_TAIL_SECONDS = 1.5
_ALONE_SECONDS = 0.5
_LAG_SECONDS = 1.0
"""A standby that receives is never behind by so much."""
_START_SECONDS = 60.0
_END_SECONDS = 60.0
_LAST_SECONDS = 120.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Round:
    """One fail-over, in seconds from the kill or the request to stop."""

    beside: Beside
    writable: float
    """Until the promoted server accepted writes."""
    insert: float
    """Until an order was acknowledged by it,"""
    start: float
    """until the first attempt began that it had given,"""
    ends: float
    """and until every job had ended that was acknowledged before."""
    acknowledged: int
    """How many orders were, before it."""
    lost: int
    """How many of them the standby had not received: none, if it is synchronous."""
    repeated: int
    """How many attempts of which it knew nothing had begun."""
    verdict: Verdict


@dataclass(frozen=True, slots=True, kw_only=True)
class Last:
    """What there was when all had ended."""

    outcomes: Mapping[str, int]
    """How many jobs ended in each way."""
    refused: int
    """How many ends of attempts were refused, as stale."""
    verdict: Verdict


@dataclass(slots=True)
class FailOvers:
    """Fails over again and again, with the data that the one before left.

    Args:
        kind: What happens to the primary.
        pair: The servers; the primary has no standby yet.
        fleet: Without programs.
        orders: What is ordered meanwhile.
        chance: Decides when, and what else happens.
        version: Of the policy.
        lease_seconds: Of workers.
    """

    kind: Kind
    pair: Pair
    fleet: Fleet
    orders: Orders
    chance: random.Random
    version: int
    lease_seconds: float
    _schedulers: list[Program] = field(default_factory=list[Program])
    _workers: list[Program] = field(default_factory=list[Program])
    _started: int = 0
    _timeline: int = 1
    _lost: set[int] = field(default_factory=set[int])
    _tails: list[tuple[float, float]] = field(default_factory=list[tuple[float, float]])
    _frozen: list[Program] = field(default_factory=list[Program])
    _halted: set[int] = field(default_factory=set[int])
    """Every process that was ever frozen."""
    _killed: dict[int, float] = field(default_factory=dict[int, float])
    _unknown: int = 0
    _gone: int = 0

    def begin(self) -> None:
        """Start the programs, and the first standby."""
        self._schedulers += [self._scheduler() for _ in range(_SCHEDULERS)]
        self._workers += [self._worker() for _ in range(_WORKERS)]
        self.pair.follow()

    def happen(self) -> Round:
        """Fail over once, have everything go on, and judge it."""
        (beside,) = self.chance.choices(_BESIDE, _OF_TWENTY)
        self._wait(self.chance.uniform(0.2, _LOAD_SECONDS))
        self._befall(beside)
        received, cut_at = self._cut()
        stopped_at = time()
        self._stop()
        former = self.pair.promote()
        writable_at = time()
        given = [e for e in self.orders.until(writable_at) if e.timeline == self._timeline]
        before = self.orders.until(stopped_at)
        self._timeline += 1
        if received is not None:
            self._lost |= tail(given, received)
            self._tails.append((cut_at - _LAG_SECONDS, writable_at))
        start_at = self._await_a_start()
        if beside == "freeze the leader":
            self._thaw()
        insert_at = self._await_an_insert(writable_at)
        self._replace(former)
        stalled, ended_at = self._await_ends([each.number for each in before])
        self._thaw()
        repeated, lost, verdict = self._judge(stalled)
        return Round(
            beside=beside,
            writable=writable_at - stopped_at,
            insert=insert_at - stopped_at,
            start=start_at - stopped_at,
            ends=ended_at - stopped_at,
            acknowledged=len(before),
            lost=lost,
            repeated=repeated,
            verdict=verdict,
        )

    def finish(self) -> Last:
        """Order no more, wait until all has ended, stop every program, and judge it all."""
        self.orders.stop.set()
        numbers = [each.number for each in self.orders.until(time())]
        stalled, _ = self._await_ends(numbers, _LAST_SECONDS)
        for program in (*self._workers, *self._schedulers):
            assert 0 == program.stop(), program.name
        _, _, verdict = self._judge(stalled, lease_seconds=self.lease_seconds)
        refused = sum(each.event == "refused" for each in self.fleet.events())
        refused += sum(
            program.log.read_text("utf-8").count('"event": "attempt.stale"')
            for program in self.fleet.programs
        )
        outcomes = Counter(each.outcome for each in self.fleet.ended())
        return Last(outcomes=outcomes, refused=refused, verdict=verdict)

    def _befall(self, beside: Beside) -> None:
        """Do what happens beside, to one of the programs."""
        if beside == "nothing":
            return
        victims = self._workers if beside.endswith("worker") else self._schedulers
        victim = self.chance.choice(victims) if victims is self._workers else self._leader()
        if beside.startswith("freeze"):
            self._frozen.append(victim)
            self._halted.update(victim.freeze())
            return
        victims.remove(victim)
        self._killed |= dict.fromkeys(victim.kill(), time())

    def _thaw(self) -> None:
        """Let what is frozen go on: of a worker first what runs its handlers.

        Its parent, which would end them, is still frozen then, so that they write what others
        have done meanwhile.
        """
        while self._frozen:
            program = self._frozen.pop()
            if program in self._workers:
                send(signal.SIGCONT, program.process_tree()[1:])
                self._wait(_ALONE_SECONDS)
            program.thaw()

    def _cut(self) -> tuple[int | None, float]:
        """Have an asynchronous standby fall behind for a while: what it lacks is the tail."""
        if self.kind != "async":
            return None, time()
        cut_at = time()
        received = self.pair.cut()
        self._wait(self.chance.uniform(0.0, _TAIL_SECONDS))
        return received, cut_at

    def _stop(self) -> None:
        if self.kind == "planned":
            self.pair.primary.stop()
        else:
            self.pair.primary.kill()

    def _replace(self, former: Server) -> None:
        """Give the primary a standby again, and the fleet what was killed."""
        if self.kind == "planned":
            self.pair.follow(former=former)
        else:
            self.pair.discard(former)
            self.pair.follow()
        while len(self._workers) < _WORKERS:
            self._workers.append(self._worker())
        while len(self._schedulers) < _SCHEDULERS:
            self._schedulers.append(self._scheduler())

    def _await_a_start(self) -> float:
        def begun() -> Sequence[Event]:
            return [
                each
                for each in self.fleet.events()
                if each.event == "started" and timeline(each.token) >= self._timeline
            ]

        starts = until(begun, what="a start on the new primary", seconds=_START_SECONDS)
        return min(each.at for each in starts)

    def _await_an_insert(self, since: float) -> float:
        first = self.orders.first_since
        until(lambda: first(since) < float("inf"), what="an order", seconds=_START_SECONDS)
        return first(since)

    def _await_ends(
        self, numbers: list[int], seconds: float = _END_SECONDS
    ) -> tuple[list[int], float]:
        """Wait until the jobs of these orders have ended; return those that have not."""
        left: list[int] = []

        def ended() -> bool:
            left[:] = standing.unended(db, numbers)
            return not left

        with self.pair.connect() as db:
            try:
                until(ended, what="the end of what was ordered before", seconds=seconds)
            except AssertionError:
                return left, float("inf")
        return [], time()

    def _judge(
        self, stalled: Sequence[int], *, lease_seconds: float | None = None
    ) -> tuple[int, int, Verdict]:
        """Return how many claims and orders are newly unknown, and what is wrong."""
        acknowledged = self.orders.until(time())
        with self.pair.connect() as db:
            seen = len(self.fleet.events())
            now = standing.read(db, self.version, seen, lease_seconds=lease_seconds)
        events = self.fleet.events()
        excused = Excused(
            orders=self._lost,
            tails=self._tails,
            killed_at=self._killed,
            frozen=self._halted,
        )
        verdict = judge(events, now, acknowledged, excused, stalled)
        before = {(each.job, each.token) for each in events[: now.seen]}
        unknown = len(before - {*now.claims})
        gone = {each.number for each in acknowledged} - {*now.orders}
        self._lost &= gone
        repeated, self._unknown = unknown - self._unknown, unknown
        lost = len(gone) - self._gone
        self._gone = len(gone)
        return repeated, lost, verdict

    def _leader(self) -> Program:
        def found() -> Program | None:
            try:
                pid = self.fleet.leader_pid()
            except OperationalError:
                return None
            return next((each for each in self._schedulers if each.pid == pid), None)

        return until(found, what="a leader", seconds=_START_SECONDS)

    def _wait(self, seconds: float) -> None:
        over = monotonic() + seconds
        until(lambda: monotonic() >= over, what="the moment", seconds=seconds + 1)

    def _scheduler(self) -> Program:
        self._started += 1
        return self.fleet.scheduler(f"scheduler-{self._started}")

    def _worker(self) -> Program:
        self._started += 1
        return self.fleet.worker(f"worker-{self._started}")
