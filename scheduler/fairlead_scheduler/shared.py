"""What the books of a pool's bands have together: who is held back, bounds, and the mean."""

from collections import ChainMap
from collections.abc import Iterable, Mapping
from typing import Protocol

from fairlead_scheduler.books import Flight, Lane, Queue
from fairlead_scheduler.estimate import Mean
from fairlead_scheduler.holds import Holds, Member
from fairlead_scheduler.homes import Homes
from fairlead_scheduler.judged import JobFacts
from fairlead_scheduler.keyed import Keyed
from fairlead_scheduler.rates import Used
from fairlead_scheduler.streams import LaneHeads
from fairlead_scheduler.windows import Windows


class Books(Protocol):
    """The books of one band."""

    @property
    def queues(self) -> Mapping[str, Queue]:
        """The queues by their names."""
        ...

    @property
    def keyed(self) -> Keyed:
        """What keys have to do with the next plan."""
        ...

    @property
    def flights(self) -> dict[int, Flight]:
        """What is in `work_queue`, by ids."""
        ...


class Judge(Protocol):
    """Looks at the conditions of rules for single jobs."""

    def __call__(self, lane: Lane, facts: JobFacts, rules: int, *, again: bool) -> int | None:
        """Return which of these rules hold a job now; None: there is no time for it.

        Again says that it is not the first time, so that a former answer would do.
        """
        ...


def _holds_nothing(lane: Lane, facts: JobFacts, rules: int, *, again: bool) -> int | None:
    """Judge before anybody looks at rules."""
    del lane, facts, rules, again
    return 0


class Shared:
    """What the books of a pool's bands have together, and with those of other pools.

    Who is held back, and what is used of rates, is one for all pools: a limit counts what is in
    flight of a queue in the pool where it was, too.

    Args:
        used: What rates have used; of the first pool alone.
        name: The pool; None: none, for queues that no pool serves.
        only: The pool that serves all queues where the policy names none.
        beside: What another pool's books have together.
    """

    __slots__ = (
        "fleet",
        "holds",
        "judge",
        "ledgers",
        "mean",
        "name",
        "only",
        "place",
        "windows",
    )

    def __init__(
        self,
        used: Iterable[Used] = (),
        *,
        name: str | None = "default",
        only: str = "default",
        beside: "Shared | None" = None,
    ) -> None:
        self.name = name
        self.only = only
        self.fleet: list[Shared] = [] if beside is None else beside.fleet
        """That of all pools, by their places."""
        self.place = len(self.fleet)
        self.fleet.append(self)
        self.holds: Holds = Holds() if beside is None else beside.holds
        self.windows: Windows = Windows(used) if beside is None else beside.windows
        self.judge: Judge = _holds_nothing if beside is None else beside.judge
        self.mean = Mean()
        self.ledgers: list[Books] = []

    @property
    def several(self) -> bool:
        """Whether there are other books than those of one band."""
        return len(self.fleet) > 1 or len(self.ledgers) > 1

    @property
    def every(self) -> list[Books]:
        """The books of all bands of all pools."""
        return [ledger for shared in self.fleet for ledger in shared.ledgers]

    @property
    def flights(self) -> Mapping[int, Flight]:
        """What is in `work_queue`, in all bands of all pools."""
        every = [ledger.flights for ledger in self.every]
        return every[0] if len(every) == 1 else ChainMap(*every)

    def is_foreign(self, queue: str, homes: Homes) -> bool:
        """Whether a queue belongs to another pool than this."""
        return homes.of(queue, self.only) != self.name

    def share_keys(self, queue: Queue) -> None:
        """Let a queue count what its keys hold together with the same queue elsewhere."""
        for other in self.members(queue.name, None):
            keys = other.keys if isinstance(other, Queue) else None
            if keys is not None and queue.keys is not None and other is not queue:
                same = keys.demands == queue.keys.demands and keys.ruled == queue.keys.ruled
                queue.keys = keys if same else queue.keys

    def asks_for(self, queue: Queue) -> bool:
        """Whether of all books these are the first that know a queue: they read its keys."""
        known = (ledger.queues.get(queue.name) for ledger in self.every)
        return next((each for each in known if each is not None), queue) is queue

    def mean_of(self, heads: LaneHeads) -> Mean | None:
        """Return what is known of the jobs of a lane in its own band."""
        queue = self.ledgers[heads.band].queues.get(heads.queue)
        lane = None if queue is None else queue.tenants.get(heads.tenant)
        return None if lane is None else lane.mean

    def members(self, queue: str, tenant: str | None) -> list[Member]:
        """Return a queue, or the lanes of a tenant of it, in all bands of all pools."""
        nodes = [led.queues[queue] for led in self.every if queue in led.queues]
        if tenant is None:
            return [*nodes]
        bands = max(len(shared.ledgers) for shared in self.fleet)
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
        members = self.members(*lane) if self.several else [member]
        for other in members:
            if other.held:
                self.holds.ask_again(other)
        had = [each.bounds for each in (member, *members) if each.bounds]
        former = next((x for x in had if x.rates == terms.rates), had[0] if had else None)
        twins = (x for x in members if x is not member and x.bounds and x.terms == terms)
        twin = next(twins, None)
        if twin is not None and twin.bounds is not None:
            member.bounds = twin.bounds
            if not (member.queue if isinstance(member, Lane) else member).foreign:
                twin.bounds.limit = terms.limit_of(slots)
        else:
            member.bounds = self.windows.bounds(
                terms, former, lane=lane, slots=slots, now_us=now_us
            )
        for other in members:
            if other.bounds is not None:
                other.bounds.members = members
