"""A database, two schedulers and workers in simulated time, and what happens to them."""

from dataclasses import replace
from functools import partial
from random import Random

from tests.simulation.database import Database, Receipt, Row
from tests.simulation.replica import SETTINGS, Replica, TermRun
from tests.simulation.scenario import FAULTS_US, Fault, Scenario, stream_of
from tests.simulation.session import Troubles
from tests.simulation.statements import Dispatched, Statements
from tests.simulation.workers import Fleet, Worker
from tests.support.histories import Load
from tests.support.law import Law, Owner
from tests.support.simulated_jobs import MS, SECOND, Clock

_OPEN_US = 3 * SECOND
"""For how long an INSERT's transaction stays open at most."""
REPLICAS = 2


class Watcher:
    """What wants to know what happens; it does nothing by itself."""

    def dispatched(self, term: TermRun, done: Dispatched) -> None:
        """Note a committed dispatch."""

    def edited(self, laws: list[Law]) -> None:
        """Note that another policy is stored, the last of these."""

    def stepped(self, us: int) -> None:
        """Note that the database's clock was set on, or back."""

    def moved(self) -> None:
        """Note that jobs were given other priorities."""

    def disturbed(self) -> None:
        """Note that something goes wrong."""


class World:
    """Everything that is simulated.

    Args:
        scenario: The input.
        seed: Of everything that is drawn while it runs.
        watcher: Is told what happens.
    """

    def __init__(self, scenario: Scenario, seed: int, watcher: Watcher) -> None:
        self.scenario, self.watcher = scenario, watcher
        self.clock = Clock()
        self.dice = Random(f"world {seed}")
        self.database = Database(
            self.clock, worker_lease_us=int(SETTINGS.worker_lease_seconds * SECOND)
        )
        self.database.notify = self._notify
        self.statements = Statements(self.database, self._dispatched)
        self.laws = [scenario.history.laws[0]]
        """The stored policies, by version."""
        self.database.policies.append(self.laws[0].document())
        self._left = list(scenario.history.laws[1:])
        self.fleet = Fleet()
        self.replicas = [self._replica(number) for number in range(REPLICAS)]
        for pool, slots in scenario.history.slots.items():
            self._populate(pool, slots)
        for load in scenario.history.loads:
            self._load(load)
        for fault in scenario.faults:
            self.clock.at(fault.at_us, partial(self._happen, fault))
        self.clock.at(FAULTS_US, self._settle)

    @property
    def leader(self) -> Replica | None:
        """The replica that leads by the database and by itself, and does not stand still."""
        epoch = self.database.leaders.epoch
        for each in self.replicas:
            leads = each.term is not None and each.leads and each.term.lease.epoch == epoch
            if leads and not each.process.stands_still:
                return each
        return None

    def _replica(self, number: int) -> Replica:
        replica = Replica(
            self.clock,
            self.statements,
            dice=Random(self.dice.random()),
            troubles=self.scenario.troubles,
            name="ab"[number],
        )
        replica.disturbed = self.watcher.disturbed
        return replica

    def _populate(self, pool: str, slots: int) -> None:
        """Let a few workers have a pool's slots."""
        while slots > 0:
            mine = min(slots, self.dice.randint(1, 4))
            slots -= mine
            worker = Worker(
                self.database,
                pool=pool,
                slots=mine,
                dice=Random(self.dice.random()),
                habits=self.scenario.habits,
            )
            self.fleet.workers.append(worker)

    def _dispatched(self, done: Dispatched) -> None:
        """Pass on a dispatch, also one whose leader is gone."""
        terms = [each.terms[done.epoch] for each in self.replicas if done.epoch in each.terms]
        self.watcher.dispatched(terms[0], done)

    def _notify(self, channel: str, payload: str) -> None:
        """Deliver a notification in a moment, if it is not lost."""
        if self.dice.random() < self.scenario.lost_notices:
            return

        def arrive() -> None:
            if channel == "fairlead_work":
                self.fleet.wake()
            else:
                for each in self.replicas:
                    each.notified(channel, payload)

        self.clock.at(self.clock.now_us + self.dice.randrange(MS), arrive)

    # --- load -------------------------------------------------------------------------------

    def _load(self, load: Load) -> None:
        number = 0
        for at_us in range(load.first_us, FAULTS_US, load.every_us):
            self.clock.at(at_us, partial(self._insert, load, number))
            number += load.batch

    def _insert(self, load: Load, number: int) -> None:
        """Insert a batch in one transaction or in two, one of which may be late or fail."""
        database, dice, scenario = self.database, self.dice, self.scenario
        numbers = list(range(number, number + load.batch))
        cut = dice.randint(0, len(numbers))
        for part in (numbers[:cut], numbers[cut:]):
            if not part:
                continue
            xid = database.begin()
            rows = [self._row(load, each) for each in part]
            open_us = dice.randrange(MS)
            if dice.random() < scenario.late_inserts:
                open_us = dice.randrange(_OPEN_US)
            fails = dice.random() < scenario.rolled_back
            commit = partial(self._commit, xid, () if fails else rows)
            self.clock.at(self.clock.now_us + open_us, commit)

    def _row(self, load: Load, number: int) -> Row:
        database, cost_us = self.database, load.costs_us[number % len(load.costs_us)]
        queue, tenant, rank = load.stream
        row = Row(database.draw_id(), database.draw_place(), queue, tenant, cost_us, 0, rank)
        row.hint_us = cost_us if load.hinted else None
        row.fields = load.fields[number % len(load.fields)]
        if self.dice.random() < 0.02:
            row.run_at_us = database.now_us + self.dice.randrange(SECOND)
        return row

    def _commit(self, xid: int, rows: "list[Row] | tuple[()]") -> None:
        database = self.database
        database.end(xid)
        for row in rows:
            row.arrived_us = self.clock.now_us
        database.insert(rows)
        if rows and database.inserts_notify:
            database.notify("fairlead_scheduler", "")

    # --- what goes wrong --------------------------------------------------------------------

    def _happen(self, fault: Fault) -> None:
        if fault.what in {"kill", "freeze", "freeze followed"}:
            self._harm_leader(fault)
        elif fault.what in {"die", "stall", "resize", "drain"}:
            self._harm_worker(fault)
        elif fault.what == "clock":
            sizes = self.scenario.clock_steps_us
            size_us = sizes[fault.choice % len(sizes)]
            self.database.offset_us += size_us if fault.size < 0.5 else -size_us
            self.watcher.stepped(size_us if fault.size < 0.5 else -size_us)
            self.watcher.disturbed()
        elif fault.what == "burn ids":
            self.database.next_id += int(5000 * fault.size)
        elif fault.what == "lock":
            self._lock(fault)
        elif fault.what == "cancel":
            self._cancel(fault)
        elif fault.what == "pause":
            self._pause(fault.owner)
        elif fault.what == "move":
            self._move(fault)
        elif fault.what == "edit" and self._left:
            self._edit(self._left.pop(0))

    def _harm_leader(self, fault: Fault) -> None:
        leader = self.leader or self.replicas[fault.choice % REPLICAS]
        if fault.what == "kill":
            leader.kill()
            return
        us = int(5 * SECOND * fault.size)
        leader.freeze(us)
        if fault.what == "freeze followed":
            other = next(each for each in self.replicas if each is not leader)
            self.clock.at(self.clock.now_us + us // 2, other.kill)

    def _harm_worker(self, fault: Fault) -> None:
        worker = self.fleet.workers[fault.choice % len(self.fleet.workers)]
        if fault.what == "die":
            worker.die(int(2 * SECOND * fault.size))
        elif fault.what == "stall":
            worker.freeze(int(5 * SECOND * fault.size))
        elif fault.what == "resize":
            worker.resize(fault.choice % 5)
        else:
            worker.drain(draining=fault.size < 0.6)

    def _lock(self, fault: Fault) -> None:
        """Let an application lock waiting jobs for a while."""
        database = self.database
        rows = [
            database.jobs[job_id]
            for _, job_id in database.lines.get(stream_of(fault), [])[: fault.choice % 20]
            if job_id not in database.work and database.jobs[job_id].lock is None
        ]
        xid = database.begin()
        for row in rows:
            row.lock = xid

        def unlock() -> None:
            database.end(xid)
            for row in rows:
                row.lock = None
                row.since_us = self.clock.now_us

        self.clock.at(self.clock.now_us + int(3 * SECOND * fault.size), unlock)

    def _cancel(self, fault: Fault) -> None:
        """End a waiting job, of which the leader is told nothing."""
        database = self.database
        for _, job_id in database.lines.get(stream_of(fault), ())[:3]:
            row = database.jobs[job_id]
            if job_id not in database.work and row.lock is None:
                database.delete(row)
                return

    def _move(self, fault: Fault) -> None:
        """Give waiting jobs another priority, in a transaction that may stay open."""
        database, former = self.database, stream_of(fault)
        first = database.lines.get(former, [])[: 1 + fault.choice % 20]
        rows = [database.jobs[job_id] for _, job_id in first]
        rows = [row for row in rows if row.worker is None and row.lock is None]
        rank = (former[2] + 1 + fault.choice // 3 % 2) % 3
        xid, receipt_id = database.begin(), database.draw_receipt()
        places = [database.draw_place() for _ in rows]
        for row in rows:
            row.lock = xid

        def commit() -> None:
            database.end(xid)
            for row, place in zip(rows, places, strict=True):
                row.lock = None
                database.leave_line(row)
                row.rank, row.seq = rank, place
                database.enter_line(row)
            moved = [(*former, rank, [row.id for row in rows])]
            database.add_receipt(Receipt(receipt_id, database.now_us, moved=moved))
            database.notify("fairlead_scheduler", "")
            self.watcher.moved()

        open_us = int(_OPEN_US * fault.size) if fault.choice % 2 else 0
        self.clock.at(self.clock.now_us + open_us, commit)

    def _pause(self, owner: Owner) -> None:
        self.database.paused ^= {owner}
        self.database.notify("fairlead_scheduler", "")

    def _edit(self, law: Law) -> None:
        self.laws.append(law)
        self.database.policies.append(law.document())
        self.watcher.edited(self.laws)
        self.database.notify("fairlead_scheduler", "policy")

    def _settle(self) -> None:
        """Let nothing go wrong any more."""
        self.database.paused = frozenset()
        self.database.notify("fairlead_scheduler", "")
        calm = Troubles(latency_us=self.scenario.troubles.latency_us)
        for replica in self.replicas:
            replica.troubles = calm
            replica.process.troubles = calm
        for worker in self.fleet.workers:
            worker.drain(draining=False)
            worker.resize(max(1, worker.slots))
            worker.calm(replace(self.scenario.habits, slow_commits=0.0, failures=0.0))
        self.watcher.disturbed()

    def release(self) -> None:
        """Let everything run that is left: no limits, and a slot for each job."""
        self._edit(Law())
        for worker in self.fleet.workers:
            worker.resize(1000)
