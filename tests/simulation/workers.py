"""Workers in simulated time: they claim by tag from the floor on, run jobs, and die with them.

A worker is a lease and slots. What its children and its parent do is simulated elsewhere
(`tests.support.simulated_worker`); here counts what the leader learns of it, and when.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from random import Random

from tests.simulation.database import Database, Receipt, Row, WorkerRow
from tests.support.simulated_jobs import MS, SECOND

RENEW_US = SECOND
_POLL_US = 250 * MS
_BELOW_FLOOR_US = SECOND
_BACKOFF_US = (50 * MS, 700 * MS)


@dataclass(frozen=True, slots=True)
class Habits:
    """How a worker's jobs end."""

    failures: float = 0.0
    """The share of attempts that fail, and are tried again later."""
    slow_commits: float = 0.0
    """The share of endings whose transaction stays open for a while."""
    open_us: int = SECOND
    """For how long at most."""
    late_receipts: float = 0.0
    """The share of claims whose receipt is committed late."""


class Worker:
    """One worker process after the other, in one pod."""

    def __init__(
        self, database: Database, *, pool: str, slots: int, dice: Random, habits: Habits
    ) -> None:
        self._database, self._dice, self._habits = database, dice, habits
        self.pool, self.slots = pool, slots
        self.row: WorkerRow | None = None
        self.held: dict[int, int] = {}
        """Jobs by their tokens."""
        self.is_alive = False
        self.frozen_until_us = 0
        self._below_us = 0
        self._life = 0
        self.begin()

    @property
    def free(self) -> int:
        """How many slots are free of a worker that claims."""
        row = self.row
        if row is None or not self.is_alive or row.draining or row.dead:
            return 0
        return max(0, row.slots - len(self.held))

    def begin(self) -> None:
        """Register a new worker."""
        database, clock = self._database, self._database.clock
        until_us = database.now_us + database.worker_lease_us
        number = len(database.workers) + 1
        self.row = WorkerRow(number, self.pool, self.slots, until_us)
        database.workers[number] = self.row
        self.is_alive, self.held = True, {}
        self._life += 1
        database.notify("fairlead_scheduler", "")
        clock.at(clock.now_us, partial(self._poll, self._life))
        clock.at(clock.now_us + RENEW_US, partial(self._renew, self._life))

    def die(self, us: int) -> None:
        """Die with whatever runs; another one begins after so long."""
        clock = self._database.clock
        self.is_alive, self.held = False, {}
        self._life += 1
        clock.at(clock.now_us + us, self.begin)

    def freeze(self, us: int) -> None:
        """Stand still for so long: no renewal, no claim, no ending."""
        self.frozen_until_us = max(self.frozen_until_us, self._database.clock.now_us + us)

    def resize(self, slots: int) -> None:
        """Have another number of slots."""
        self.slots = slots
        if self.row is not None:
            self.row.slots = slots
            self._database.notify("fairlead_scheduler", "")

    def drain(self, *, draining: bool) -> None:
        """Take no more jobs, or take them again."""
        if self.row is not None:
            self.row.draining = draining
            self._database.notify("fairlead_scheduler", "")

    def calm(self, habits: Habits) -> None:
        """Have other habits from now on."""
        self._habits = habits

    def wake(self) -> None:
        """Look for work now."""
        if self.is_alive:
            self._claim()

    def _alone(self, life: int, again: Callable[[], None]) -> bool:
        """Whether this life goes on; a frozen one does it once it thaws."""
        clock = self._database.clock
        if life != self._life:
            return False
        if clock.now_us < self.frozen_until_us:
            clock.at(self.frozen_until_us, again)
            return False
        return True

    def _renew(self, life: int) -> None:
        if not self._alone(life, partial(self._renew, life)) or self.row is None:
            return
        database, clock = self._database, self._database.clock
        if self.row.dead:
            self._life += 1
            self.is_alive = False
            clock.at(clock.now_us + self._dice.randrange(SECOND), self.begin)
            return
        self.row.lease_until_us = database.now_us + database.worker_lease_us
        clock.at(clock.now_us + RENEW_US, partial(self._renew, life))

    def _poll(self, life: int) -> None:
        if not self._alone(life, partial(self._poll, life)):
            return
        self._claim()
        clock = self._database.clock
        clock.at(clock.now_us + _POLL_US, partial(self._poll, life))

    # --- claims -----------------------------------------------------------------------------

    def _claim(self) -> None:
        """Claim what there is room for, from the floor on, and now and then below it."""
        database, clock = self._database, self._database.clock
        row = self.row
        if clock.now_us < self.frozen_until_us or row is None or not self.free:
            return
        taken = self._picked(self.free, below=False)
        if not taken and clock.now_us - self._below_us >= _BELOW_FLOOR_US:
            self._below_us = clock.now_us
            taken = self._picked(self.free, below=True)
        if not taken:
            return
        for each in taken:
            each.worker, each.token = row.id, database.next_token
            database.next_token += 1
            each.claimed_us, each.claimed_at_us = clock.now_us, database.now_us
            self.held[each.id] = each.token
            end = partial(self._end, self._life, each, each.token)
            clock.at(clock.now_us + each.cost_us, end)
        receipt = Receipt(
            database.draw_receipt(), database.now_us, row.id, claimed=[x.id for x in taken]
        )
        late_us = 0
        if self._dice.random() < self._habits.late_receipts:
            late_us = self._dice.randrange(200 * MS)
        clock.at(clock.now_us + late_us, partial(database.add_receipt, receipt))

    def _picked(self, most: int, *, below: bool) -> list[Row]:
        database = self._database
        free = [
            (each.band, each.vtag, each.id)
            for each in database.work.values()
            if each.worker is None and each.lock is None and each.pool == self.pool
        ]
        floors = database.floors
        return [
            database.work[job_id]
            for band, vtag, job_id in sorted(free)
            if below or vtag >= floors.get((self.pool, band), 0)
        ][:most]

    # --- endings ----------------------------------------------------------------------------

    def _end(self, life: int, row: Row, token: int) -> None:
        """End an attempt, if it is still ours, in a transaction that may stay open."""
        if not self._alone(life, partial(self._end, life, row, token)):
            return
        database, clock, dice = self._database, self._database.clock, self._dice
        if self.held.get(row.id) != token:
            return
        if database.work.get(row.id) is not row or row.token != token or row.worker is None:
            del self.held[row.id]
            self._claim()
            return
        if row.lock is not None:
            clock.at(clock.now_us + 200 * MS, partial(self._end, life, row, token))
            return
        xid = row.lock = database.begin()
        receipt = database.draw_receipt()
        open_us = 0
        if dice.random() < self._habits.slow_commits:
            open_us = dice.randrange(self._habits.open_us)
        failed = dice.random() < self._habits.failures
        commit = partial(self._commit, life, row, xid, receipt, failed)
        clock.at(clock.now_us + open_us, commit)

    def _commit(self, life: int, row: Row, xid: int, receipt: int, failed: bool) -> None:  # noqa: FBT001 - an event's value
        """Commit an ending; half of those whose worker has died since are rolled back."""
        database, clock = self._database, self._database.clock
        row.lock = None
        database.end(xid)
        if life != self._life and self._dice.random() < 0.5:
            return
        run_us = database.leave_work(row)
        if failed:
            database.leave_line(row)
            row.run_at_us = database.now_us + self._dice.randint(*_BACKOFF_US)
        else:
            database.delete(row)
        database.add_receipt(Receipt(receipt, database.now_us, ended=[row.id], run_us=[run_us]))
        if life == self._life:
            self.held.pop(row.id, None)
            if clock.now_us >= self.frozen_until_us:
                self._claim()


@dataclass(slots=True)
class Fleet:
    """All workers."""

    workers: list[Worker] = field(default_factory=list[Worker])

    def of(self, pool: str) -> list[Worker]:
        """Return those of a pool."""
        return [each for each in self.workers if each.pool == pool]

    def free(self, pool: str) -> int:
        """Return how many slots of a pool are free."""
        return sum(each.free for each in self.of(pool))

    def slots(self, pool: str) -> int:
        """Return how many slots of a pool take jobs."""
        alive = [each for each in self.of(pool) if each.is_alive and each.row is not None]
        return sum(each.slots for each in alive)

    def wake(self) -> None:
        """Notify all."""
        for each in self.workers:
            each.wake()
