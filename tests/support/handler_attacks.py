"""Attacks by a tenant's own handlers, on the product's order and a simulated worker.

The scenes are those of the bench's HANDLERS: two tenants are backlogged, a quiet one inserts
four short jobs a second, and the attacker is backlogged with handlers that do harm, or with
plain ones before which a harmful one comes every three seconds.
"""

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from heapq import heappop, heappush
from itertools import accumulate
from typing import Literal

from fairlead.policy import parse
from fairlead.tasks import Handler, RunsOn
from fairlead_scheduler.capacity.pool_state import PoolState
from fairlead_scheduler.capacity.workers import Capacity
from fairlead_scheduler.ordering.router import PoolSize
from fairlead_scheduler.policy.compiled import CompiledPolicy, compile_policy
from tests.support.adversaries import LIAR, QUIET, VICTIMS, quiet_jobs, victims
from tests.support.attacked_fleet import SLOTS, Outcome, by_tenant
from tests.support.entitlements import entitlements
from tests.support.fleet import Fleet, Job, Key
from tests.support.simulated_jobs import MS, SECOND, Clock, JobRow, Kind
from tests.support.simulated_worker import Worker

TICK_US = 10 * MS
SECONDS = 24
_RARELY_US = 3 * SECOND
_CEILING = 2000
_WORKER = 1
_PASSED_MAX = 1000
_Receipt = Literal["claimed", "ended", "returned", "passed over"]


@dataclass(frozen=True, slots=True)
class Run:
    """A run of the attacker's, as the checker wants it."""

    lane: Key
    cost_us: int
    arrived_us: int
    claimed_us: int | None
    ended_us: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Attack:
    """Jobs of one kind, in place of a backlog of plain ones or before the rest of it."""

    kind: Kind
    cost_us: int
    jobs: int = 1
    at_us: int = 0
    every_us: int = 0
    """How long after that they are inserted again, and again; 0: never."""
    alone_us: int = 0
    """How long it has the slots alone before the others begin."""
    entitled_us: int | None = None
    """How long a run is entitled to its slot, if it is not as long as it keeps it."""
    policy: Mapping[str, object] = field(default_factory=dict[str, object])
    limit: int = SLOTS
    """How many slots the policy lets the attacker have at most."""


class HandlersFleet(Fleet):
    """A fleet whose slots are those of a worker with processes.

    The leader knows of them what receipts and the worker's row say.
    """

    def __init__(
        self,
        table: CompiledPolicy,
        kinds: Mapping[str, Kind],
        *,
        processes: int,
        without: frozenset[str],
    ) -> None:
        super().__init__(slots=SLOTS, depth=0, tick_us=TICK_US, table=table)
        self.clock = Clock()
        self.worker = Worker(
            self.clock,
            self,
            kinds,
            processes=processes,
            concurrency=SLOTS // processes,
            without=without,
        )
        self.rows: dict[int, JobRow] = {}
        self.begun: dict[int, int] = {}
        """When what runs has begun."""
        self.runs: list[tuple[int, int, int | None]] = []
        """Which jobs have run, from when until when."""
        self.charged_us = Counter[Key]()
        self._state, self._capacity = PoolState(self.pool, ceiling=_CEILING), Capacity()
        self._receipts: list[tuple[_Receipt, int, int]] = []

    def insert(self, at_us: int, lane: Key, cost_us: int, kind: str, rank: int = 0) -> None:
        """Let a job of this kind be inserted at that time."""
        self.arrive(at_us, *lane, cost_us, rank=rank)
        self.rows[self._ids] = JobRow(self._ids, kind, lane[1], cost_us)

    # --- the leader -------------------------------------------------------------------------

    def size(self) -> PoolSize:
        """Return what the next plan has room for, and see which lanes are full."""
        worker, state = self.worker, self._state
        slots = max(1, worker.slots)
        self._capacity.set_workers([(_WORKER, slots, state.name, worker.slotless, True)])
        size = state.next_size(
            self._capacity, self.now_us, pending=bool(self.pending), round_us=TICK_US + MS
        )
        self.paused = state.full_lanes(self._capacity)
        return size

    def learn(self) -> None:
        """Report to the leader what workers did, in its order."""
        order, capacity, state = self.order, self._capacity, self._state
        state.claims = 0
        for receipt, job_id, value in self._receipts:
            match receipt:
                case "claimed":
                    order.claimed([job_id], value)
                    capacity.claimed(_WORKER, [job_id])
                    state.claims += 1
                case "ended":
                    order.ended([job_id], state.charges_us([value], capacity))
                    capacity.ended([job_id])
                case "returned":
                    order.returned([job_id], value)
                    capacity.ended([job_id])
                case "passed over":
                    state.passed_over.add([job_id], self.pool.ledgers)
        self._receipts.clear()

    def advance(self, until_us: int) -> None:
        """Let the worker go on until then."""
        self.clock.run(until_us)
        self.now_us = until_us

    def _claim(self) -> None:
        self.worker.wake()

    # --- what the worker does ---------------------------------------------------------------

    def take(self, jobs_max: int, full_kinds: tuple[str, ...]) -> list[JobRow]:
        """Claim rows in the order of their tags, but none of these kinds."""
        found, passed = list[JobRow](), list[tuple[int, int, int]]()
        while self._queued and len(found) < jobs_max:
            entry = heappop(self._queued)
            row = self.rows[entry[2]]
            if row.kind in full_kinds:
                passed.append(entry)
                continue
            self.work[row.id].claimed_us = self.clock.now_us
            self._receipts.append(("claimed", row.id, self.clock.now_us))
            found.append(row)
        for entry in passed:
            heappush(self._queued, entry)
        return found

    def pass_over(self, full_kinds: tuple[str, ...]) -> None:
        """Report the rows of these kinds, first of all those that would be claimed first."""
        passed = [i for _, _, i in sorted(self._queued) if self.rows[i].kind in full_kinds]
        self._receipts.extend(("passed over", job_id, 0) for job_id in passed[:_PASSED_MAX])

    def began(self, job_id: int) -> None:
        """Note that a job's handler has begun in its slot: this is what the checker means."""
        self.jobs[job_id].claimed_us = self.begun[job_id] = self.clock.now_us

    def finished(self, job_id: int, run_us: int) -> None:
        """Note that a handler has left its slot, and charge it unless it was charged before."""
        self._end_run(job_id)
        self.jobs[job_id].ended_us = self.clock.now_us
        if job_id in self.work:
            self.completed(job_id, run_us)

    def completed(self, job_id: int, run_us: int) -> None:
        """Take a job out of the work queue."""
        job = self._leave_queue(job_id, run_us)
        self.charged_us[job.lane] += run_us

    def returned(self, job_id: int) -> None:
        """Take a job back that waits again, at once."""
        self._end_run(job_id)
        job = self.work[job_id]
        job.claimed_us = None
        job.vtag = max(job.vtag, self.pool.floors[job.band])
        heappush(self._queued, (job.band, job.vtag, job_id))
        self._receipts.append(("returned", job_id, self.clock.now_us))

    def put_off(self, job_id: int, until_us: int) -> None:
        """Take a job back that waits again from then on."""
        job = self._leave_queue(job_id, 0)
        job.claimed_us = None
        heappush(self._arrivals, (until_us, job_id, job))

    def _leave_queue(self, job_id: int, run_us: int) -> Job:
        job = self.work.pop(job_id)
        self.in_flight[job.lane] -= 1
        self._forget(job)
        self._receipts.append(("ended", job_id, run_us))
        return job

    def _end_run(self, job_id: int) -> None:
        begun_us = self.begun.pop(job_id, None)
        if begun_us is not None:
            self.runs.append((job_id, begun_us, self.clock.now_us))


@dataclass(frozen=True, slots=True)
class Found:
    """What came of a scene."""

    others: Outcome
    charged_over_held: float
    """What the attacker was charged, of what its handlers had."""
    held_max: int
    """How many slots it had at once."""


def play(
    attack: Attack,
    *,
    processes: int = 1,
    without: frozenset[str] = frozenset(),
    quiet_from_us: int = SECOND,
) -> Found:
    """Play an attack for `SECONDS`, on 20 slots in so many processes."""
    kinds = {each.name: each for each in (SLEEP, PLAIN.kind, attack.kind)}
    table = compile_policy(parse(json.dumps(attack.policy)))
    fleet = HandlersFleet(table, kinds, processes=processes, without=without)
    quiet = quiet_jobs(QUIET, SECONDS, from_us=quiet_from_us)
    for job in (*victims(SECONDS, from_us=attack.alone_us), *quiet):
        fleet.insert(job.at_us, job.lane, job.cost_us, SLEEP.name)
    for each in (attack,) if attack.at_us == 0 else (PLAIN, attack):
        for at_us in range(each.at_us, SECONDS * SECOND, each.every_us or SECONDS * SECOND):
            for _ in range(each.jobs):
                rank = -1 if each.at_us else 0
                fleet.insert(at_us, LIAR, each.cost_us, each.kind.name, rank)
    fleet.run(SECONDS * SECOND)
    return _found(attack, fleet)


def _found(attack: Attack, fleet: HandlersFleet) -> Found:
    until_us = SECONDS * SECOND
    honest = (*VICTIMS, QUIET)
    jobs = [job for job in fleet.jobs.values() if job.lane in honest]
    held = _held(attack, fleet)
    had = entitlements([*jobs, *held], by_tenant, honest, slots=SLOTS, until_us=until_us)
    waits_us = tuple(
        (until_us if job.claimed_us is None else job.claimed_us) - job.arrived_us
        for job in jobs
        if job.lane == QUIET
    )
    held_us = sum(run.cost_us for run in held if run.ended_us is not None)
    changes = [(run.arrived_us, 1) for run in held]
    changes += [(run.ended_us, -1) for run in held if run.ended_us is not None]
    return Found(
        Outcome({lane: had[lane] for lane in VICTIMS}, waits_us),
        fleet.charged_us[LIAR] / max(1, held_us),
        max(accumulate(change for _, change in sorted(changes)), default=0),
    )


def _held(attack: Attack, fleet: HandlersFleet) -> list[Run]:
    """Return when the attacker's handlers had slots, as far as they are entitled to them."""
    until_us = SECONDS * SECOND
    found: list[Run] = []
    for job_id, begun_us, ended_us in (
        *fleet.runs,
        *((job_id, begun_us, None) for job_id, begun_us in fleet.begun.items()),
    ):
        if fleet.jobs[job_id].lane != LIAR:
            continue
        end_us = until_us if ended_us is None else ended_us
        if attack.entitled_us is not None and fleet.rows[job_id].kind != PLAIN.kind.name:
            end_us = min(end_us, begun_us + attack.entitled_us)
        is_over = ended_us is not None or end_us < until_us
        run_us = end_us - begun_us
        found.append(Run(LIAR, run_us, begun_us, begun_us, end_us if is_over else None))
    return found


def kind(
    name: str,
    runs_on: RunsOn = "loop",
    *,
    concurrency: int | None = None,
    timeout_seconds: float | None = None,
    **harm: bool,
) -> Kind:
    """Return a kind of handlers."""
    handler = Handler(
        kind=name,
        run=_nothing,
        runs_on=runs_on,
        timeout_seconds=timeout_seconds,
        concurrency=concurrency,
    )
    return Kind(handler, **harm)


def _nothing(_job: object) -> None:
    """Do nothing: what a handler does is simulated."""


SLEEP = kind("sleep")
PLAIN = Attack(kind=kind("plain"), cost_us=200 * MS, jobs=2600)
_FOUR = {"match": {"tenant": "liar"}, "slots": {"limit": 4}}
_LIMITED = {"queues": [{"match": {"queue": "q"}, "tenants": {"overrides": [_FOUR]}}]}
EARLY = Attack(kind=kind("completes early", completes_early=True), cost_us=2 * SECOND, jobs=600)
ATTACKS: Mapping[str, Attack] = {
    "completes early": EARLY,
    "completes early, limit of 4": replace(EARLY, policy=_LIMITED),
    "one at a time": Attack(
        kind=kind("one at a time", concurrency=1), cost_us=200 * MS, jobs=2600
    ),
    "plain processes": Attack(kind=kind("processes", "process"), cost_us=200 * MS, jobs=2600),
    "blocks the loop": Attack(
        kind=kind("blocks", keeps_loop=True), cost_us=500 * MS, jobs=600, at_us=5 * SECOND
    ),
    "dies every 3 s": Attack(
        kind=kind("dies", "thread", ends_process=True),
        cost_us=MS,
        at_us=_RARELY_US,
        every_us=_RARELY_US,
    ),
    "ignores its timeout": Attack(
        kind=kind("ignores", "thread", timeout_seconds=1, never_stops=True),
        cost_us=30 * SECOND,
        entitled_us=SECOND,
        at_us=_RARELY_US,
        every_us=_RARELY_US,
    ),
    "extends for ever": Attack(
        kind=kind("extends", timeout_seconds=2),
        cost_us=1000 * SECOND,
        jobs=600,
        alone_us=SECOND,
    ),
    "empty jobs": Attack(kind=kind("empty", keeps_loop=True), cost_us=20, jobs=100_000),
}
"""By what the attacker's handlers do. One that extends its time has what the pool allows."""
