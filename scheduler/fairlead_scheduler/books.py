"""What the leader knows of lanes, queues and the rows that it has put into `work_queue`.

The rows that wait for a worker are kept per queue in the order of their tenant tags, which is
also the order of their root tags, so that workers, who claim by root tag, follow the tenants'
order.
"""

from bisect import bisect_right
from collections.abc import Iterator

from fairlead_scheduler.bounds import FREE, Bounds
from fairlead_scheduler.estimate import Mean, prior_us
from fairlead_scheduler.keys import Keys
from fairlead_scheduler.order import NEVER, OUT, Level
from fairlead_scheduler.rulebook import NO_QUEUE_RULES, RuleBook
from fairlead_scheduler.stints import Stint
from fairlead_scheduler.streams import LaneHeads
from fairlead_scheduler.terms import QueueTerms, Terms
from fairlead_scheduler.values import AnyHead, FairSettings

UNCLAIMED = -1
CLOSED = -2
UNKNOWN = -1


class Lane:
    """A tenant of a queue, as a member of the queue's level."""

    __slots__ = (
        "_own",
        "_own_by",
        "active",
        "aged",
        "bounds",
        "dirty",
        "ended",
        "expected_us",
        "heads",
        "held",
        "in_flight",
        "index",
        "key",
        "mean",
        "owed_us",
        "queue",
        "ran_us",
        "reread_us",
        "resumes",
        "rules",
        "ruling",
        "served_us",
        "start",
        "stint",
        "tenant",
        "terms",
        "until_us",
        "waits_since_us",
        "weight",
    )

    def __init__(self, queue: "Queue", tenant: str, terms: Terms) -> None:
        self.queue = queue
        self._own_by, self._own = queue.rule, terms
        self.tenant = tenant
        self.aged: int | None = None
        """The band from which its jobs have come because they waited too long there."""
        self.terms = terms
        self.weight = terms.weight
        self.bounds: Bounds | None = None
        self.held = FREE
        """Why it does not wait for service though it has work."""
        self.stint: Stint | None = None
        """For how long it has been held back; None: it never was."""
        self.until_us = 0
        """Until when a rate holds it."""
        self.reread_us = 0
        """When heads are read again if they hold up all behind them; 0: they never did."""
        self.rules = 0
        """The rules that are for it, or `UNKNOWN`."""
        self.ruling = 0
        """Those that ask something of lanes and hold for this one."""
        self.heads = LaneHeads(queue.name, tenant)
        """Those of `Heads`, from the first time that it names the lane."""
        self.start: int = queue.lanes.virtual
        self.in_flight = 0
        self.index = 0
        self.key = OUT
        self.active = False
        self.waits_since_us = 0
        """Since when it has waited for service, while it is active or parked."""
        self.resumes = False
        """Whether it goes on waiting when it is active next, because it was only parked."""
        self.mean = Mean()
        self.expected_us = queue.prior_us
        """The estimate for a job without a hint."""
        self.dirty = False
        """Whether the next plan has something to settle, which is:"""
        self.owed_us = 0
        self.ended = 0
        self.ran_us = 0
        self.served_us = 0
        """What runs took that have ended, or were broken off, and that no report has
        counted."""

    def begin(self, book: RuleBook, ruling: int) -> None:
        """Find the rules that are for it, of which these hold everywhere."""
        self.rules = self.queue.rules.for_tenant(self.tenant)
        self.terms = self.ruled(book, ruling)
        self.weight = self.terms.weight

    def ruled(self, book: RuleBook, ruling: int) -> Terms:
        """Return its terms with what rules change of them, of which these hold everywhere."""
        rules = self.rules & ruling | self.ruling
        return book.change(self.own, rules) if rules else self.own

    @property
    def own(self) -> Terms:
        """Its terms as they are without rules: they are looked for once in a policy."""
        rule = self.queue.rule
        if self._own_by is not rule:
            self._own_by, self._own = rule, rule.lane(self.tenant)
        return self._own

    @property
    def band(self) -> int:
        """The band that it is in."""
        return self.queue.band

    @property
    def owner(self) -> tuple[str, str]:
        """Whose limits, rates and reserve it has, with the tenant's lanes in other bands."""
        return (self.queue.name, self.tenant)


class Flight:
    """A job in `work_queue`."""

    __slots__ = ("charged_us", "claimed_us", "head", "lane", "rank", "root_tag")

    def __init__(
        self, lane: Lane, head: AnyHead | None, rank: int, root_tag: int, charged_us: int
    ) -> None:
        self.lane = lane
        self.head = head
        self.rank = rank
        self.root_tag = root_tag
        self.charged_us = charged_us
        self.claimed_us = UNCLAIMED
        """When a worker took it, or `UNCLAIMED`, or `CLOSED` once it has left `work_queue`."""


class Queue:
    """A queue, as a member of its pool's level, with its tenants and its unclaimed rows."""

    __slots__ = (
        "active",
        "aged",
        "band",
        "bounds",
        "ended",
        "first",
        "foreign",
        "held",
        "in_flight",
        "index",
        "key",
        "keys",
        "lanes",
        "mean",
        "name",
        "owed_us",
        "pool",
        "prior_us",
        "ran_us",
        "rows",
        "rule",
        "rules",
        "scale",
        "settled_in",
        "shown",
        "start",
        "stint",
        "tags",
        "tenants",
        "terms",
        "until_us",
        "waits_since_us",
        "weight",
    )

    def __init__(
        self, name: str, start: int, rule: QueueTerms, settings: FairSettings, *, band: int = 0
    ) -> None:
        self.name = name
        self.pool = 0
        """The place of the pool that it is in."""
        self.foreign = False
        """Whether it belongs to another pool now, and is here for what is in flight."""
        self.band = band
        self.rule = rule
        self.terms = rule.own
        self.weight = rule.own.weight
        self.bounds: Bounds | None = None
        self.held = FREE
        self.stint: Stint | None = None
        self.until_us = 0
        self.rules = NO_QUEUE_RULES
        self.start = start
        self.in_flight = 0
        self.index = 0
        self.key = OUT
        self.active = False
        self.waits_since_us = 0
        self.keys: Keys[Lane] | None = None
        self.lanes: Level[Lane] = Level()
        self.tenants: dict[str, Lane] = {}
        self.aged: dict[tuple[str, int], Lane] = {}
        """Lanes of jobs that have come from other bands, by tenant and band."""
        self.scale = 1.0
        """What a distance of tenant tags is between root tags, at most."""
        self.mean = Mean()
        self.prior_us = settings.prior_us
        self.owed_us = 0
        self.ended = 0
        self.ran_us = 0
        self.rows: list[Flight] = []
        """Those that no longer wait leave when they come to the front, all but the last."""
        self.tags: list[int] = []
        """Their tenant tags."""
        self.first = 0
        """Where the first unclaimed row is; behind the end when there is none."""
        self.shown: Flight | None = None
        """The row that stands for this queue where the floor is sought."""
        self.settled_in = 0
        """The plan for which the virtual time of its tenants was last brought up to date."""

    def rescale(self) -> None:
        """Heed the weights of the queue and its tenants.

        A job moves the tag of its tenant by its cost over the tenant's weight, and that of the
        queue by its cost over the queue's. Rows whose tags kept the tenants' distances would be
        claimed ever later than it is their queue's turn where the first is more.
        """
        lightest = min((lane.weight for lane in self.every()), default=1.0)
        self.scale = lightest / self.weight

    def begin(self, book: RuleBook, ruling: int) -> None:
        """Find the rules that are for it, of which these hold."""
        self.rules = book.of(self.name)
        self.terms = self.ruled(book, ruling)
        self.weight = self.terms.weight

    def ruled(self, book: RuleBook, ruling: int) -> Terms:
        """Return its terms with what rules change of them, of which these hold."""
        rules = self.rules.own & ruling
        return book.change(self.rule.own, rules) if rules else self.rule.own

    def made_keys(self) -> Keys[Lane] | None:
        """Return new keys, by its terms and its rules; None where nothing holds single jobs."""
        demands, ruled = self.rule.keys, self.rules.jobs > 0
        return Keys(demands, ruled=ruled) if demands or ruled else None

    def every(self) -> Iterator[Lane]:
        """Yield all lanes."""
        yield from self.tenants.values()
        yield from self.aged.values()

    def lanes_of(self, tenant: str, bands: int) -> Iterator[Lane]:
        """Yield the lanes of one tenant, without a look at the others; of so many bands."""
        lane = self.tenants.get(tenant)
        if lane is not None:
            yield lane
        for band in range(self.band + 1, bands):
            lane = self.aged.get((tenant, band))
            if lane is not None:
                yield lane

    def settle(self, settings: FairSettings) -> None:
        """Learn from what has ended."""
        if self.ended:
            self.mean.add(self.ran_us, self.ended, settings.window)
            self.prior_us = prior_us(self.mean, settings.prior_us)
            self.ran_us = self.ended = 0

    def front(self) -> Flight | None:
        """Return the unclaimed row with the smallest tags."""
        rows, first = self.rows, self.first
        end = len(rows)
        while first < end and rows[first].claimed_us != UNCLAIMED:
            first += 1
        if first > 256 or first == end > 1:
            del rows[: first - 1], self.tags[: first - 1]
            first = 1
        self.first = first
        return rows[first] if first < len(rows) else None

    def oldest(self) -> int:
        """Return the smallest tenant tag of an unclaimed row, or `NEVER`."""
        return NEVER if self.front() is None else self.tags[self.first]

    def place(self, tag: int, flight: Flight, floor: int) -> bool:
        """Place a row by its tenant tag; says whether it is the first now.

        The last row has the queue's tag, and is at least as far behind the one before it as
        their tenants' tags say, in the queue's measure. One that overtakes borrows: its root
        tag lies between those of its neighbours as its tenant tag lies between theirs, so
        that any number of rows can overtake one that is far ahead. In front of the first row
        it is as far ahead as its tenant tag, but by one job at most: that may be below the
        floor, which then follows.
        """
        rows, tags = self.rows, self.tags
        place = bisect_right(tags, tag, lo=self.first)
        if place == self.first < len(rows):
            first = rows[place]
            ahead = (tags[place] - tag) * self.scale
            flight.root_tag = first.root_tag - int(min(ahead, first.charged_us / self.weight))
        elif place < len(rows):
            before, before_tag = rows[place - 1], tags[place - 1]
            room = rows[place].root_tag - before.root_tag
            flight.root_tag = before.root_tag + room * (tag - before_tag) // (
                tags[place] - before_tag
            )
        else:
            flight.root_tag = max(flight.root_tag, floor)
            if rows:
                behind = int(max(0, tag - tags[-1]) * self.scale)
                flight.root_tag = max(flight.root_tag, rows[-1].root_tag + behind)
        rows.insert(place, flight)
        tags.insert(place, tag)
        return place == self.first
