"""Properties of job rules, on an in-memory fleet of slots."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from hypothesis import example, given
from hypothesis import strategies as st

from fairlead.policy import parse
from fairlead.policy.cel.variables import Workers
from fairlead_scheduler.metrics.registry import Metrics
from fairlead_scheduler.policy.compiled import compile_policy
from fairlead_scheduler.rules.evaluator import EvaluationClocks, RuleEvaluator
from tests.support.fleet import Fleet, Job
from tests.support.loads import happen, known_heads, refuse_if
from tests.support.ruled import of_job

MS = 1000
SECOND = 1_000_000
EDIT_US = 1500 * MS
END_US = 5 * SECOND
KNOWN_US = 100 * MS
"""From a job's insert until it has been discovered, read and evaluated."""
LATE_US = 1200 * MS
"""A rule result is cached for a second, by the clock of its slice. Then 250 conditions are
evaluated a tick: five ticks for four rules and the heads of four lanes that are passed over."""

QUEUES, TENANTS, KINDS = ("q", "r"), ("a", "b"), ("x", "y", "z")


@dataclass(frozen=True)
class Rule:
    """A rule that holds jobs of some kind, of some tenants."""

    kind: str | None
    queue: str | None
    tenant: str | None
    of: str
    """`free`, `young` or `late`: what has to be"""
    below: int
    """below so many slots, or tenths of a second."""

    def written(self) -> str:
        """Return it as the policy has it."""
        fields = (("kind", self.kind), ("queue", self.queue), ("tenant", self.tenant))
        match = ", ".join(f"{name}: {value}" for name, value in fields if value is not None)
        when = {
            "free": f"workers.free < {self.below}",
            "young": f"job.age_s < {self.below / 10}",
            "late": f"job.deadline_in_s < {self.below / 10}",
        }[self.of]
        return f"{{{f'match: {{{match}}}, ' if match else ''}when: {when}, hold: true}}"

    def meant(self, job: Job) -> bool:
        """Whether it is for a job."""
        kind = job.fields["job.facts"].split()[-1]
        wanted = ((self.kind, kind), (self.queue, job.queue), (self.tenant, job.tenant))
        return all(name is None or name == has for name, has in wanted)

    def may_hold(self, job: Job, free: int, now_us: int) -> bool:
        """Whether it may hold a job by what was so within the last second."""
        since_us, left_us = self._times(job, now_us)
        if self.of == "free":
            return free < self.below
        if self.of == "young":
            return since_us - LATE_US < self.below * SECOND / 10
        return left_us is not None and left_us < self.below * SECOND / 10

    def must_hold(self, job: Job, free: int, now_us: int) -> bool:
        """Whether it holds a job by all that was so within the last second."""
        since_us, left_us = self._times(job, now_us)
        if self.of == "free":
            return free < self.below
        if self.of == "young":
            return since_us < self.below * SECOND / 10
        return left_us is not None and left_us + LATE_US < self.below * SECOND / 10

    @staticmethod
    def _times(job: Job, now_us: int) -> tuple[int, int | None]:
        _, _, since_us, expires_us, _ = job.fields["job.facts"].split()
        return now_us - int(since_us), None if expires_us == "-" else int(expires_us) - now_us


rules = st.builds(
    Rule,
    st.none() | st.sampled_from(KINDS),
    st.none() | st.sampled_from(QUEUES),
    st.none() | st.sampled_from(TENANTS),
    st.sampled_from(("free", "young", "late")),
    st.integers(1, 12),
).filter(lambda rule: rule.kind is not None or rule.of != "free")
edits = st.lists(st.lists(rules, max_size=4), min_size=1, max_size=4)
events = st.lists(st.sampled_from(("", "return", "fail over", "refuse")), max_size=30)
jobs = st.tuples(
    st.integers(MS, SECOND // 2),
    st.integers(0, 1),
    st.sampled_from(KINDS),
    st.none() | st.integers(0, 30),
)
"""Cost, rank, kind, and tenths of a second until it expires."""
loads = st.lists(
    st.tuples(
        st.sampled_from(QUEUES),
        st.sampled_from(TENANTS),
        st.lists(jobs, min_size=1, max_size=6),
        st.integers(1, 8),
        st.integers(100 * MS, SECOND),
    ),
    min_size=1,
    max_size=4,
    unique_by=lambda load: load[:2],
)


class Watch:
    """What the plans did, and the rules in force."""

    def __init__(self, fleet: Fleet) -> None:
        self.fleet = fleet
        self.rules: Sequence[Rule] = ()
        self.wrong: list[str] = []
        self.disturbed_us = 0
        self._free = 0
        self._clocks = EvaluationClocks(self._seconds, lambda: 0.0)
        fleet.observe = self.look
        self.lead()

    def lead(self) -> None:
        """Begin as a leader does that takes over."""
        self._evaluator = RuleEvaluator(Metrics().policy.rules, lambda _: None, self._clocks)
        self._due_seconds = 0.0

    def apply(self, edited: Sequence[Rule]) -> None:
        """Put other rules in force."""
        self.rules = edited
        self.disturbed_us, self._due_seconds = self.fleet.now_us, 0.0
        listed = ", ".join(rule.written() for rule in edited)
        self.fleet.order.apply(
            compile_policy(
                parse(f"{{rules: [{listed}], fairness: {{reserve: null}}}}"), stored=1
            ),
            self.fleet.now_us,
        )

    def rule(self) -> None:
        """Evaluate the rules, as the loop does before each plan."""
        fleet = self.fleet
        free = fleet.slots - len(fleet.running)
        if self._seconds() >= self._due_seconds:
            # Rounded as the evaluator's times are, or it may be a tick before or after.
            self._free, self._due_seconds = free, self._seconds() + 1.0
        self._evaluator.evaluate(
            fleet.order, lambda _: Workers(fleet.slots, free), fleet.now_us
        )

    def look(self) -> None:
        """Check what the last plan has dispatched, and what it has left."""
        fleet = self.fleet
        for job_id, *_ in fleet.plans[-1].rows:
            job = fleet.work.get(job_id)
            if job is None:
                self.disturbed_us = fleet.now_us  # it was refused
            elif self._must_hold(job):
                self.wrong.append(f"{job.id} went though a rule holds it")
            else:
                self._check_order(job)
        if len(fleet.running) < fleet.slots and any(self._eligible()):
            self.wrong.append(f"a slot is idle at {fleet.now_us}")

    def check_recall(self) -> None:
        """Check that nothing is queued for a worker that a rule holds."""
        if self.disturbed_us > self.fleet.now_us - LATE_US:
            return
        for job in self.fleet.work.values():
            if job.claimed_us is None and self._must_hold(job):
                self.wrong.append(f"{job.id} is queued though a rule holds it")

    def _seconds(self) -> float:
        return self.fleet.now_us / SECOND

    def _must_hold(self, job: Job) -> bool:
        now_us = self.fleet.now_us
        return any(x.meant(job) and x.must_hold(job, self._free, now_us) for x in self.rules)

    def _may_hold(self, job: Job) -> bool:
        now_us = self.fleet.now_us
        return any(x.meant(job) and x.may_hold(job, self._free, now_us) for x in self.rules)

    def _check_order(self, job: Job) -> None:
        """Check that no job before it in its lane was skipped without a reason."""
        planned = {job_id for job_id, *_ in self.fleet.plans[-1].rows}
        for other in self.fleet.pending.values():
            before = other.lane == job.lane and (other.rank, other.seq) < (job.rank, job.seq)
            known = max(self.disturbed_us, other.arrived_us) < self.fleet.now_us - KNOWN_US
            if before and known and other.id not in planned and not self._may_hold(other):
                self.wrong.append(f"{job.id} went before {other.id}")

    def _eligible(self) -> Iterator[bool]:
        """Yield whether each job may go, of those known and among the first of a lane."""
        known_us = self.fleet.now_us - KNOWN_US
        if self.disturbed_us <= known_us:
            for job in known_heads(self.fleet, known_us):
                yield not self._may_hold(job)


def misfortune(fleet: Fleet, watch: Watch, what: str) -> None:
    """Inject an event between two ticks."""
    refuse_if(fleet, what)
    happen(fleet, what)
    if what == "fail over":
        watch.lead()
    if what:
        watch.disturbed_us = fleet.now_us


ALL_YOUNG, YOUNG_OF_A = Rule(None, None, None, "young", 1), Rule(None, None, "a", "young", 1)


@example(
    lanes=[
        ("q", "b", [(MS, 0, "x", None)], 3, 100 * MS),
        ("r", "a", [(MS, 0, "x", None)], 3, 100 * MS),
        ("q", "a", [(MS, 0, "x", None)], 1, 100 * MS),
    ],
    slots=9,
    depth=4,
    edited=[[ALL_YOUNG, ALL_YOUNG, Rule(None, None, None, "young", 9)]],
    happens=[],
)
@example(
    lanes=[
        ("q", "a", [(100 * MS, 0, "x", None)], 2, 907 * MS),
        ("q", "b", [(162_223, 0, "x", None)], 4, 364_622),
    ],
    slots=1,
    depth=0,
    edited=[[YOUNG_OF_A], [ALL_YOUNG]],
    happens=[],
)
@example(
    lanes=[
        ("q", "a", [(MS, 0, "x", None)], 1, 100 * MS),
        ("q", "b", [(20 * MS + 1, 0, "x", None)], 1, 100 * MS),
    ],
    slots=1,
    depth=0,
    edited=[[Rule("x", None, None, "free", 1)]],
    happens=["fail over", *[""] * 7],
)
@example(
    lanes=[
        ("q", "a", [(MS, 0, "x", None)], 1, 100 * MS),
        ("q", "b", [(MS, 0, "x", None)], 1, 162_223),
    ],
    slots=1,
    depth=0,
    edited=[[ALL_YOUNG], [YOUNG_OF_A]],
    happens=[],
)
@given(loads, st.integers(1, 12), st.sampled_from((0, 4, 30)), edits, events)
def test_a_held_job_never_goes_and_the_others_flow(
    lanes: Sequence[tuple[str, str, list[tuple[int, int, str, int | None]], int, int]],
    slots: int,
    depth: int,
    edited: Sequence[Sequence[Rule]],
    happens: list[str],
) -> None:
    """A held head is never dispatched, queued rows are recalled, the others keep their order.

    No slot is idle while a job may go; with arrivals, endings, returns, refusals, edits and new
    leaders.
    """
    fleet = Fleet(slots=slots, depth=depth)
    watch = Watch(fleet)
    for queue, tenant, made, batch, every_us in lanes:
        for number, at_us in enumerate(range(0, 2 * SECOND, every_us)):
            for place in range(batch):
                cost_us, rank, kind, left = made[(number + place) % len(made)]
                expires_us = None if left is None else at_us + left * SECOND // 10
                facts = of_job(kind, since_us=at_us, expires_us=expires_us)
                fleet.arrive(at_us, queue, tenant, cost_us, rank=rank, fields=facts)
    while fleet.now_us < END_US:
        if fleet.now_us % EDIT_US == 0:
            watch.apply(edited[fleet.now_us // EDIT_US % len(edited)])
        misfortune(fleet, watch, happens.pop() if happens else "")
        watch.rule()
        gone = (i for i in fleet.order.surplus_rows() if i in fleet.work)
        fleet.recall(tuple(i for i in gone if fleet.work[i].claimed_us is None))
        watch.check_recall()
        fleet.run(fleet.now_us + fleet.tick_us)

    assert [] == watch.wrong[:5]
