"""What the ledgers of a pool's bands share: blocked members, bounds, and the mean run time."""

from collections import ChainMap
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Protocol

from fairlead_scheduler.limits.job_facts import JobFacts
from fairlead_scheduler.limits.kind_limits import KindLimits
from fairlead_scheduler.limits.rate_usage import RateUsage
from fairlead_scheduler.ordering.blocked import BlockedMembers, Member
from fairlead_scheduler.ordering.in_flight import InFlightJob
from fairlead_scheduler.ordering.job_checks.key_state import KeyState
from fairlead_scheduler.ordering.lanes import Lane, Queue
from fairlead_scheduler.ordering.levels.accounts import Account, Branch
from fairlead_scheduler.ordering.run_time import MeanRunTime
from fairlead_scheduler.ordering.slot_entry import SlotEntry
from fairlead_scheduler.pending.cursors import LaneHeads
from fairlead_scheduler.policy.gcra import WindowUsage
from fairlead_scheduler.policy.pool_routing import PoolRouting


class BandLedger(Protocol):
    """The ledger of one band."""

    @property
    def band(self) -> int:
        """Its place among the bands, from the top."""
        ...

    @property
    def queues(self) -> Mapping[str, Queue]:
        """The queues by their names."""
        ...

    @property
    def branches(self) -> Mapping[str | None, Branch]:
        """The branches of its order by the names of their queues."""
        ...

    @property
    def key_state(self) -> KeyState:
        """What keys leave for the next plan."""
        ...

    @property
    def in_flight_jobs(self) -> dict[int, InFlightJob]:
        """What is in `work_queue`, by ids."""
        ...

    @property
    def unclaimed(self) -> int:
        """How many rows wait for a worker."""
        ...

    @property
    def waiting_us(self) -> int:
        """How long these will take, and what is claimed and has no slot, by evidence."""
        ...

    def enter(self, job: InFlightJob, at_us: int) -> None:
        """Note since when a claimed job has had its slot."""
        ...


class JobRuleCheck(Protocol):
    """Evaluates the conditions of rules for single jobs."""

    def __call__(self, lane: Lane, facts: JobFacts, rules: int, *, again: bool) -> int | None:
        """Return which of these rules block a job now; None: there is no time for it.

        `again` means that it is not the first time, so that a former result would do.
        """
        ...


def _block_nothing(lane: Lane, facts: JobFacts, rules: int, *, again: bool) -> int | None:
    """Block no job before rules are evaluated."""
    del lane, facts, rules, again
    return 0


class PoolContext:
    """What the ledgers of a pool's bands share with each other, and with those of other pools.

    Blocked members, what is used of rates and the limits of kinds are one for all pools: a
    limit also counts what is in flight of a queue in the pool where it was.

    Args:
        used: What rates have used; of the first pool alone.
        name: The pool; None: none, for queues that no pool serves.
        default_pool: The pool that serves all queues where the policy names none.
        beside: The context of another pool.
    """

    __slots__ = (
        "blocked",
        "check_rules",
        "default_pool",
        "fleet",
        "kinds",
        "ledgers",
        "mean",
        "name",
        "place",
        "slot_entry",
        "windows",
    )

    def __init__(
        self,
        used: Iterable[WindowUsage] = (),
        *,
        name: str | None = "default",
        default_pool: str = "default",
        beside: "PoolContext | None" = None,
    ) -> None:
        self.name = name
        self.default_pool = default_pool
        self.fleet: list[PoolContext] = [] if beside is None else beside.fleet
        """The contexts of all pools, by their places."""
        self.place = len(self.fleet)
        self.fleet.append(self)
        self.blocked: BlockedMembers = BlockedMembers() if beside is None else beside.blocked
        self.windows: RateUsage = RateUsage(used) if beside is None else beside.windows
        self.kinds: KindLimits[Lane] = KindLimits() if beside is None else beside.kinds
        self.check_rules: JobRuleCheck = (
            _block_nothing if beside is None else beside.check_rules
        )
        self.mean = MeanRunTime()
        self.ledgers: list[BandLedger] = []
        self.slot_entry = SlotEntry()

    @property
    def has_several(self) -> bool:
        """Whether there are other ledgers than that of one band."""
        return len(self.fleet) > 1 or len(self.ledgers) > 1

    @property
    def all_ledgers(self) -> list[BandLedger]:
        """The ledgers of all bands of all pools."""
        return [ledger for context in self.fleet for ledger in context.ledgers]

    @property
    def in_flight_jobs(self) -> Mapping[int, InFlightJob]:
        """What is in `work_queue`, in all bands of all pools."""
        every = [ledger.in_flight_jobs for ledger in self.all_ledgers]
        return every[0] if len(every) == 1 else ChainMap(*every)

    def enter_slots(self, now_us: int) -> None:
        """Let jobs that are claimed ahead have the slots that have become free."""
        for job, since_us in self.slot_entry.entered(now_us):
            self.ledgers[job.lane.queue.band].enter(job, since_us)

    def may_queue(self, ledger: BandLedger) -> tuple[int, int]:
        """Return how many more rows of a band may be queued in any case, and how much work.

        It counts from the top: a band never waits for rows of the bands below it.
        """
        counted, slots = self.ledgers[: ledger.band + 1], self.slot_entry
        claimed = sum([len(each.in_flight_jobs) - each.unclaimed for each in self.ledgers])
        return slots.may_queue(
            sum([each.unclaimed for each in counted]),
            claimed - slots.occupied,
            sum([each.waiting_us for each in counted]),
        )

    def is_foreign(self, queue: str, routing: PoolRouting) -> bool:
        """Whether a queue belongs to another pool than this."""
        return routing.pool_of(queue, self.default_pool) != self.name

    def share_keys(self, queue: Queue) -> None:
        """Let a queue count its keys together with the same queue in other ledgers."""
        for other in self.members(queue.name, None):
            keys = other.keys if isinstance(other, Queue) else None
            if keys is not None and queue.keys is not None and other is not queue:
                same = (
                    keys.limits == queue.keys.limits
                    and keys.has_job_rules == queue.keys.has_job_rules
                    and keys.kinds is queue.keys.kinds
                )
                queue.keys = keys if same else queue.keys

    def reads_keys_of(self, queue: Queue) -> bool:
        """Whether this is the first ledger that knows a queue: that one reads its keys."""
        known = (ledger.queues.get(queue.name) for ledger in self.all_ledgers)
        return next((each for each in known if each is not None), queue) is queue

    def mean_of(self, heads: LaneHeads) -> MeanRunTime | None:
        """Return the mean run time of a lane's jobs in its own band, if known."""
        queue = self.ledgers[heads.band].queues.get(heads.queue)
        lane = None if queue is None else queue.tenants.get(heads.tenant)
        return None if lane is None else lane.mean

    def serve_elsewhere(self, here: BandLedger, account: Account) -> None:
        """Count what an account has had in the tenant's accounts of the other bands.

        Together they have one share.
        """
        queue = account.branch.queue
        name, had_us = None if queue is None else queue.name, account.new_service.had_us
        for ledger in self.ledgers:
            branch = None if ledger is here else ledger.branches.get(name)
            other = None if branch is None else branch.by_tenant.get(account.tenant)
            if branch is not None and other is not None:
                branch.accounts.serve_elsewhere(other, had_us)

    def members(self, queue: str, tenant: str | None) -> list[Member]:
        """Return a queue, or the lanes of a tenant of it, in all bands of all pools."""
        nodes = [led.queues[queue] for led in self.all_ledgers if queue in led.queues]
        if tenant is None:
            return [*nodes]
        bands = max(len(context.ledgers) for context in self.fleet)
        return [lane for node in nodes for lane in node.lanes_of(tenant, bands)]

    def bind(
        self, member: Member, lane: tuple[str, str | None], *, slots: int, now_us: int
    ) -> None:
        """Give a member the bounds of its terms, with what is used of their windows.

        Where a queue has moved to another pool, limits are shares of that one's slots.

        Args:
            member: The lane or the queue.
            lane: The queue, and the tenant, or None for the queue's own.
            slots: Of the pool's live workers.
            now_us: The database's time.
        """
        terms = member.terms
        members = self.members(*lane) if self.has_several else [member]
        for other in members:
            if other.blocked_by:
                self.blocked.recheck(other)
        had = [each.bounds for each in (member, *members) if each.bounds]
        former = next((x for x in had if x.rates == terms.rates), had[0] if had else None)
        twins = (x for x in members if x is not member and x.bounds and x.terms == terms)
        twin = next(twins, None)
        if twin is not None and twin.bounds is not None:
            member.bounds = twin.bounds
            if not (member.queue if isinstance(member, Lane) else member).foreign:
                twin.bounds.limit = terms.limit_of(slots)
        else:
            member.bounds = self.windows.make_limiter(
                terms, former, lane=lane, slots=slots, now_us=now_us
            )
        for other in members:
            if other.bounds is not None:
                other.bounds.members = members


class InFlightByBand(Protocol):
    """The order of one band."""

    @property
    def in_flight(self) -> Collection[int]:
        """The ids that are in `work_queue`."""
        ...


class InFlightIds(Collection[int]):
    """The ids that are in `work_queue`, by the ledgers of several bands: a live view."""

    __slots__ = ("_orders",)

    def __init__(self, orders: Sequence[InFlightByBand]) -> None:
        self._orders = orders

    def __contains__(self, job_id: object) -> bool:
        """Whether a job is in flight."""
        return any(job_id in order.in_flight for order in self._orders)

    def __iter__(self) -> Iterator[int]:
        """Yield them, band by band."""
        for order in self._orders:
            yield from order.in_flight

    def __len__(self) -> int:
        """Return how many there are."""
        return sum([len(order.in_flight) for order in self._orders])
