"""One fault after another in one scene, each with its gaps and its verdict."""

import random
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from itertools import pairwise
from time import time

import psycopg

from tests.chaos import history
from tests.chaos.fail_overs import standing
from tests.chaos.fail_overs.orders import Orders
from tests.chaos.fail_overs.series import SHIPPED
from tests.chaos.fail_overs.verdicts import Excused, Verdict, judge
from tests.chaos.repeats import faults
from tests.chaos.repeats.faults import Done, Kind
from tests.chaos.repeats.scenes import Scene
from tests.support.waiting import until

_LOAD_SECONDS = 1.5
_END_SECONDS = 60.0
_LAST_SECONDS = 120.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Round:
    """One fault, in seconds.

    Args:
        beside: whom it hit, where that is drawn.
        gap: for how long at most no attempt began, from the fault on.
        insert: for how long at most no order was acknowledged.
        again: until every attempt that was cut short had begun again; 0: none was.
        ends: until every job had ended that was acknowledged before the fault was over, and the
            first one after it.
        acknowledged: how many orders were acknowledged from the fault on.
    """

    beside: str
    gap: float
    insert: float
    again: float
    ends: float
    acknowledged: int

    def values(self) -> dict[str, object]:
        """Return it as it is recorded."""
        return {
            name: round(value, 3) if isinstance(value, float) else value
            for name, value in asdict(self).items()
        }


@dataclass(slots=True)
class Repeats:
    """Has a fault happen again and again, with what the ones before have left."""

    kind: Kind
    scene: Scene
    orders: Orders
    chance: random.Random
    version: int
    _killed: dict[int, float] = field(default_factory=dict[int, float])
    _frozen: set[int] = field(default_factory=set[int])

    def happen(self) -> tuple[Round, Verdict]:
        """Have it happen once, and wait until all has ended that was acknowledged meanwhile."""
        faults.wait(self.chance.uniform(0.2, _LOAD_SECONDS))
        began_at = time()
        done = self.kind.happen(self.scene, self.chance)
        self._killed |= done.killed_at
        self._frozen |= {*done.frozen}
        first_at = self._await_an_insert(self.scene.answers())
        numbers = [each.number for each in self.orders.until(first_at)]
        stalled, ended_at = self._await_ends(numbers, _END_SECONDS)
        done.over()
        self.scene.leader()
        verdict = self._judge(stalled)
        acknowledged = [each.at for each in self.orders.until(ended_at) if each.at > began_at]
        return Round(
            beside=done.beside,
            gap=_longest([began_at, *self._starts(began_at, ended_at), ended_at]),
            insert=_longest([began_at, *sorted(acknowledged), ended_at]),
            again=self._again(done, began_at),
            ends=ended_at - began_at,
            acknowledged=len(acknowledged),
        ), verdict

    def finish(self) -> Verdict:
        """Order no more, wait until all has ended, stop every program, and judge it all."""
        self.orders.stop.set()
        numbers = [each.number for each in self.orders.until(time())]
        stalled, _ = self._await_ends(numbers, _LAST_SECONDS)
        for program in (*self.scene.workers, *self.scene.schedulers):
            assert 0 == program.stop(), program.name
        lease_seconds = float(SHIPPED["FAIRLEAD_WORKER_LEASE_SECONDS"])
        return self._judge(stalled, lease_seconds=lease_seconds)

    def _await_an_insert(self, since: float) -> float:
        first = self.orders.first_since
        until(lambda: first(since) < float("inf"), what="an order", seconds=_END_SECONDS)
        return first(since)

    def _starts(self, since: float, until_at: float) -> list[float]:
        return sorted(
            each.at
            for each in self.scene.fleet.events()
            if each.event == "started" and since < each.at < until_at
        )

    def _again(self, done: Done, began_at: float) -> float:
        if not done.victims:
            return 0.0
        died_at = max(done.killed_at.get(pid, began_at) for pid in done.victims)
        return history.slowest_recovery_seconds(
            self.scene.fleet.events(),
            pids=done.victims,
            died_at=died_at,
            ended=self.scene.fleet.ended(),
        )

    def _await_ends(self, numbers: list[int], seconds: float) -> tuple[list[int], float]:
        """Wait until the jobs of these orders have ended; return those that have not."""
        left: list[int] = []

        def ended() -> bool:
            with suppress(psycopg.OperationalError), self.scene.fleet.connect() as db:
                left[:] = standing.unended(db, numbers)
                return not left
            return False

        try:
            until(ended, what="the end of what was ordered before", seconds=seconds)
        except AssertionError:
            return left, time()
        return [], time()

    def _judge(self, stalled: Sequence[int], *, lease_seconds: float | None = None) -> Verdict:
        acknowledged = self.orders.until(time())
        seen = len(self.scene.fleet.events())
        with self.scene.fleet.connect() as db:
            now = standing.read(db, self.version, seen, lease_seconds=lease_seconds)
        excused = Excused(killed_at=self._killed, frozen=self._frozen)
        return judge(self.scene.fleet.events(), now, acknowledged, excused, stalled)


def _longest(times: Sequence[float]) -> float:
    return max(after - before for before, after in pairwise(times))
