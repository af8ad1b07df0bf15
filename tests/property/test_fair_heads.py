"""No pending job is lost or offered twice, in whatever order transactions commit."""

from collections.abc import Callable
from dataclasses import dataclass, field

from hypothesis import given
from hypothesis import strategies as st

from fairlead_scheduler.pending.cursors import LaneHeads
from fairlead_scheduler.pending.heads import Heads
from fairlead_scheduler.pending.tail import Probe, Tail
from fairlead_scheduler.pending.values import Head, HeadsSettings, PendingJob, TailSettings

TICK_US = 20_000
steps = st.lists(
    st.tuples(
        st.sampled_from(
            (
                *("insert", "insert", "commit", "roll back", "look", "sweep", "repend"),
                *("block", "lock", "unlock"),
            )
        ),
        st.integers(0, 5),
    ),
    max_size=60,
)


@dataclass
class Jobs:
    """The jobs table as snapshots see it: ids and places are drawn before the commit."""

    heads: Heads
    tail: Tail
    now_us: int = 0
    next_id: int = 1
    next_seq: int = 1
    next_xid: int = 1
    open: list[tuple[int, list[PendingJob]]] = field(
        default_factory=list[tuple[int, list[PendingJob]]]
    )
    rows: dict[int, PendingJob] = field(default_factory=dict[int, PendingJob])
    in_flight: set[int] = field(default_factory=set[int])
    blocked: set[int] = field(default_factory=set[int])
    """Heads that no plan takes, and others behind them go."""
    locked: set[int] = field(default_factory=set[int])
    """Jobs that no dispatch moves, though plans take them."""
    offered: list[int] = field(default_factory=list[int])
    lanes: dict[int, LaneHeads] = field(default_factory=dict[int, LaneHeads])

    def happen(self, what: str, number: int) -> None:
        """Let one of the `steps` happen."""
        methods: dict[str, Callable[[int], None]] = {
            "insert": self.insert,
            "commit": self.commit,
            "roll back": self.roll_back,
            "look": self.look,
            "sweep": lambda _: self.sweep(),
            "repend": self.repend,
            "block": self.block,
            "lock": self.lock,
            "unlock": lambda _: self.locked.clear(),
        }
        methods[what](number)

    @property
    def xmin(self) -> int:
        """Every transaction below it has ended."""
        return min((xid for xid, _ in self.open), default=self.next_xid)

    def insert(self, tenant: int) -> None:
        """Begin a transaction that inserts a few jobs, not always in the order of both."""
        rows: list[PendingJob] = []
        for number in range(tenant % 3 + 1):
            seq = self.next_seq + (1 if number % 2 else 0) - (1 if number == 2 else 0)
            rows.append(PendingJob(self.next_id, seq, "q", f"t{tenant % 2}", 0, None, None))
            self.next_id += 1
            self.next_seq += 1
        self.next_seq += 1
        self.open.append((self.next_xid, rows))
        self.next_xid += 1

    def commit(self, which: int) -> None:
        """Commit one of the open transactions."""
        if self.open:
            _, rows = self.open.pop(which % len(self.open))
            self.rows.update((row.id, row) for row in rows)

    def roll_back(self, which: int) -> None:
        """Roll one of the open transactions back; its ids are lost."""
        if self.open:
            self.open.pop(which % len(self.open))

    def look(self, take: int) -> None:
        """Let the leader read the tail, probe, refill, and dispatch a few."""
        self.now_us += TICK_US
        wants, probe = self.heads.next_requests(10), self.tail.next_probe(self.now_us)
        new = sorted(row for row in self.rows.values() if row.id > self.tail.last_id)[:4]
        self.tail.read([row.id for row in new], self.next_xid, self.now_us)
        self.heads.discovered(new)
        self.take_found(probe)
        for want in wants:
            lane = (row for row in self.rows.values() if row.tenant == want.stream[1])
            behind = sorted((row.seq, row.id) for row in lane if row.seq > want.after_seq)
            heads = [Head(job_id, seq, None, None) for seq, job_id in behind[: want.limit]]
            self.heads.filled(want.stream, heads, want.limit)
        self.dispatch(take)

    def take_found(self, probe: Probe) -> None:
        """Let the leader take in what a probe finds, and which single ids are locked."""
        found = [row for row in self.rows.values() if _is_in(row.id, probe)]
        streams = {row.id: row[2:5] for row in found if row.id in self.locked & {*probe.ids}}
        free = [row for row in found if row.id not in streams]
        ids = [row.id for row in free]
        locked = self.tail.probed(probe, ids, self.xmin, self.now_us, locked=streams)
        self.heads.missed(row for row in free if row.id not in self.in_flight)
        for job_id in locked:
            self.tail.doubt(self.heads.withhold(streams[job_id], 2), self.now_us)

    def dispatch(self, take: int) -> None:
        """Take up to so many heads of each lane."""
        for lane in self.heads.take_changed():
            self.lanes[id(lane)] = lane
        for lane in self.lanes.values():
            for _ in range(take):
                free = [head for head in lane.ready if head[0] not in self.blocked]
                if not free:
                    self.heads.watch(lane, lane.stream)
                    break
                job_id = free[0][0]
                lane.ready.remove(free[0])
                self.heads.taken(1)
                if len(lane.ready) <= lane.refill_at:
                    self.heads.ran_low(lane)
                if job_id in self.locked:
                    self.tail.doubt([job_id], self.now_us)
                elif job_id not in self.in_flight:
                    self.in_flight.add(job_id)
                    self.offered.append(job_id)

    def sweep(self) -> None:
        """Scan the lanes for their first pending job."""
        first: dict[str, PendingJob] = {}
        for row in sorted(self.rows.values(), key=lambda row: row.seq):
            if row.id not in self.in_flight:
                first.setdefault(row.tenant, row)
        again = self.tail.take_unwatched(xid for xid, _ in self.open)
        self.heads.scanned_first(first.values(), again=again)

    def block(self, which: int) -> None:
        """Let a pending job wait for ever, as one does whose concurrency key is full."""
        pending = sorted(self.rows.keys() - self.in_flight)
        if pending:
            self.blocked.add(pending[which % len(pending)])

    def lock(self, which: int) -> None:
        """Let a transaction lock some pending jobs, each with those that follow it."""
        pending = sorted(self.rows.keys() - self.in_flight)
        if pending:
            self.locked.update(pending[which % len(pending) :])

    def repend(self, which: int) -> None:
        """End a dispatched job's attempt, and promote it with a place of its own."""
        if self.in_flight:
            job_id = sorted(self.in_flight)[which % len(self.in_flight)]
            self.in_flight.remove(job_id)
            self.offered.remove(job_id)
            row = self.rows[job_id] = self.rows[job_id]._replace(seq=self.next_seq)
            self.next_seq += 1
            self.heads.missed([row])


def _is_in(job_id: int, probe: Probe) -> bool:
    ranges = zip(probe.lows, probe.highs, strict=True)
    return job_id in probe.ids or any(low <= job_id <= high for low, high in ranges)


@given(steps, st.sampled_from((1, 2, 64)), st.sampled_from((2, 2048)))
def test_every_committed_job_is_offered_once(
    happens: list[tuple[str, int]], first: int, most: int
) -> None:
    """Tail, probes, refills and sweeps find each job once, whichever comes first.

    A blocked head hides nothing that was committed late behind it, and neither do locked ones,
    which go once their locks are gone.
    """
    in_flight: set[int] = set()
    settings = HeadsSettings(first=first, lowest=1, per_stream_max=most)
    tail = Tail(0, 0, TailSettings(ranges_max=3, doubtful_max=3))
    heads = Heads(settings, in_flight=in_flight, doubtful=tail.doubtful)
    jobs = Jobs(heads, tail, in_flight=in_flight)
    heads.record_scan()
    for what, number in happens:
        jobs.happen(what, number)
    while jobs.open:
        jobs.commit(0)
    for held in (jobs.blocked | jobs.locked, jobs.blocked):
        for _ in range(200):
            jobs.look(5)
            jobs.sweep()

        assert sorted(jobs.rows.keys() - held) == sorted(jobs.offered)
        jobs.locked.clear()
