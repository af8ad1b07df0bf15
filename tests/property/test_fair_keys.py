"""Properties of concurrency keys, on an in-memory fleet of slots."""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from hypothesis import given
from hypothesis import strategies as st

from fairlead_scheduler.policy.compiled import Terms
from fairlead_scheduler.policy.settings import KeyLimit
from tests.support.fleet import Fleet, Job
from tests.support.loads import happen, known_heads, refuse_if
from tests.support.tables import table

MS = 1000
SECOND = 1_000_000
EDIT_US = 400 * MS
ROUNDS = 4
"""Ticks from a job's insert until it must be able to go: discovery, reading, planning."""
ACCOUNT, REGION = "payload.account", "headers.region"
Keys = Mapping[str, tuple[KeyLimit, ...]]
Held = tuple[str, str | None, str, str]
"""Queue, tenant where it counts by itself, path and value."""

QUEUES, TENANTS = ("q", "r"), ("a", "b", "c")
key_limits = st.builds(
    KeyLimit, st.sampled_from((ACCOUNT, REGION)), st.integers(1, 3), st.booleans()
)
key_lists = st.lists(
    key_limits, max_size=3, unique_by=lambda each: (each.path, each.per_tenant)
)
policies = st.fixed_dictionaries({queue: key_lists.map(tuple) for queue in QUEUES})
edits = st.lists(policies, min_size=1, max_size=4)
fields = st.fixed_dictionaries(
    {},
    optional={ACCOUNT: st.sampled_from(("1", "2", "3")), REGION: st.sampled_from(("x", "y"))},
)
events = st.lists(
    st.sampled_from(("", "return", "recall", "fail over", "sweep", "refuse")), max_size=40
)


@dataclass(frozen=True)
class Load:
    """One lane's jobs: what they have, how often they come, how long they take."""

    queue: str
    tenant: str
    jobs: tuple[tuple[int, int, dict[str, str]], ...]
    """Cost, rank and fields of each."""
    batch: int
    every_us: int


loads = st.lists(
    st.builds(
        Load,
        st.sampled_from(QUEUES),
        st.sampled_from(TENANTS),
        st.lists(
            st.tuples(st.integers(MS, SECOND // 2), st.integers(0, 1), fields),
            min_size=1,
            max_size=6,
        ).map(tuple),
        st.integers(1, 8),
        st.integers(100 * MS, SECOND),
    ),
    min_size=1,
    max_size=5,
    unique_by=lambda load: (load.queue, load.tenant),
)


class Watch:
    """What the plans did, and the keys in force."""

    def __init__(self, fleet: Fleet, keys: Keys) -> None:
        self.fleet = fleet
        self.keys = keys
        self.over: list[str] = []
        self.passed: list[str] = []
        self.wasted: list[int] = []
        self.disturbed_us = 0
        self.unread: set[tuple[str, str]] = set()
        """Lanes that a new leader has had no slot for. Among their heads it finds what is in
        flight, and reads no values of that: one that ends before their turn costs a look."""
        fleet.observe = self.look

    def apply(self, keys: Keys) -> None:
        """Put other keys in force."""
        self.keys = keys
        self.disturbed_us = self.fleet.now_us
        self.fleet.order.apply(
            table({("q", "a"): Terms(weight=2)}, keys=keys), self.fleet.now_us
        )

    def held(self, job: Job) -> Iterator[tuple[Held, int]]:
        """Yield the keys that a job occupies while in flight, and their limits."""
        for demand in self.keys.get(job.queue, ()):
            value = job.fields.get(demand.path)
            if value is not None:
                tenant = job.tenant if demand.per_tenant else None
                yield (job.queue, tenant, demand.path, value), demand.limit

    def in_flight(self) -> Counter[Held]:
        """Count the keys in use."""
        rows = self.fleet.work.values()
        return Counter(each for job in rows for each, _ in self.held(job))

    def look(self) -> None:
        """Check what the last plan has dispatched, and what it has left."""
        fleet, counts = self.fleet, self.in_flight()
        rows = fleet.plans[-1].rows
        went = [fleet.work[job_id] for job_id, *_ in rows if job_id in fleet.work]
        if len(went) < len(rows):
            self.disturbed_us = fleet.now_us
        for job in went:
            self.over += [str(each) for each, most in self.held(job) if counts[each] > most]
            self._overtaken(job)
        if len(fleet.running) < fleet.slots:
            allowed = {lane for lane, may_go in self._allowed(counts) if may_go}
            if allowed - self.unread:
                self.wasted.append(fleet.now_us)
            self.unread -= allowed

    def _overtaken(self, job: Job) -> None:
        """Check that no job before it was skipped for any reason but its own keys."""
        values = {each for each, _ in self.held(job)}
        planned = {job_id for job_id, *_ in self.fleet.plans[-1].rows}
        for other in self.fleet.pending.values():
            before = other.lane == job.lane and (other.rank, other.seq) < (job.rank, job.seq)
            if other.id in planned:
                continue  # it was refused
            if before and {each for each, _ in self.held(other)} <= values:
                self.passed.append(f"{job.id} went before {other.id}")

    def _allowed(self, counts: Counter[Held]) -> Iterator[tuple[tuple[str, str], bool]]:
        """Yield lanes and whether a job could go, of those that are known and read."""
        known_us = self.fleet.now_us - ROUNDS * self.fleet.tick_us
        if self.disturbed_us <= known_us:
            for job in known_heads(self.fleet, known_us):
                yield job.lane, all(counts[each] < most for each, most in self.held(job))


def misfortune(fleet: Fleet, watch: Watch, what: str) -> None:
    """Inject an event between two ticks."""
    refuse_if(fleet, what)
    happen(fleet, what)
    if what == "fail over":
        watch.unread = {job.lane for job in fleet.pending.values()}
    if what:
        watch.disturbed_us = fleet.now_us


@given(loads, st.integers(1, 12), st.sampled_from((0, 4, 30)), edits, events)
def test_no_more_of_a_key_run_than_may_and_none_that_may_waits(
    lanes: list[Load], slots: int, depth: int, edited: list[Keys], happens: list[str]
) -> None:
    """Never more than n of a key, no idle slot while a head may go, order inside a key.

    With arrivals, endings, releases, recalls and refusals, edits and new leaders.
    """
    fleet = Fleet(slots=slots, depth=depth, table=table({}, keys=edited[0]))
    watch = Watch(fleet, edited[0])
    for load in lanes:
        for number, at_us in enumerate(range(0, SECOND, load.every_us)):
            for place in range(load.batch):
                cost_us, rank, having = load.jobs[(number + place) % len(load.jobs)]
                fleet.arrive(at_us, load.queue, load.tenant, cost_us, rank=rank, fields=having)
    while fleet.now_us < 2 * SECOND:
        if fleet.now_us % EDIT_US == 0:
            watch.apply(edited[fleet.now_us // EDIT_US % len(edited)])
        misfortune(fleet, watch, happens.pop() if happens else "")
        fleet.recall(
            tuple(
                job_id
                for job_id in fleet.order.surplus_rows()
                if job_id in fleet.work and fleet.work[job_id].claimed_us is None
            )
        )
        fleet.run(fleet.now_us + fleet.tick_us)

    assert ([], [], []) == (watch.over, watch.passed, watch.wasted)
