"""The leader's state of lanes, queues and the rows that it has put into `work_queue`.

The rows that wait for a worker are kept per queue in the order of their tenant tags, which is
also the order of their root tags: workers claim by root tag, and so follow the tenants' order.
"""

from bisect import bisect_right
from collections.abc import Iterator

from fairlead_scheduler.limits.blocked_reasons import FREE
from fairlead_scheduler.limits.blocked_time import BlockedTime
from fairlead_scheduler.limits.concurrency_keys import ConcurrencyKeys
from fairlead_scheduler.limits.limiter import Limiter
from fairlead_scheduler.ordering.level import NEVER, Level
from fairlead_scheduler.ordering.run_time import MeanRunTime, prior_us
from fairlead_scheduler.ordering.virtual_time import OUT, NewService, Service
from fairlead_scheduler.pending.cursors import LaneHeads
from fairlead_scheduler.pending.values import AnyHead
from fairlead_scheduler.policy.compiled import QueueTerms, Terms
from fairlead_scheduler.policy.rules import NO_QUEUE_RULES, RuleSet
from fairlead_scheduler.policy.settings import FairSettings

UNCLAIMED = -1
CLOSED = -2
AHEAD = -3
UNKNOWN = -1
HINT_MAX_US = 600_000_000
_HINT_LEAST_US = 1_000_000


class Lane:
    """A tenant of a queue, as a member of the queue's level."""

    __slots__ = (
        "_own",
        "_own_of",
        "active",
        "active_rules",
        "aged",
        "blocked_by",
        "blocked_time",
        "bounds",
        "claimed_us",
        "dirty",
        "ended",
        "expected_us",
        "heads",
        "hint_max_us",
        "in_flight",
        "index",
        "key",
        "mean",
        "new_service",
        "owed_us",
        "queue",
        "ran_us",
        "reread_us",
        "resumes",
        "rules",
        "served_us",
        "service",
        "start",
        "tenant",
        "terms",
        "until_us",
        "waits_since_us",
        "weight",
    )

    def __init__(self, queue: "Queue", tenant: str, terms: Terms) -> None:
        self.queue = queue
        self._own_of, self._own = queue.rule, terms
        self.tenant = tenant
        self.aged: int | None = None
        """The band from which its jobs came because they waited too long there."""
        self.terms = terms
        self.weight = terms.weight
        self.bounds: Limiter | None = None
        self.blocked_by = FREE
        """Why it does not wait for service though it has work."""
        self.blocked_time: BlockedTime | None = None
        """For how long it has been blocked; None: it never was."""
        self.until_us = 0
        """Until when a rate blocks it."""
        self.reread_us = 0
        """When heads are read again if they hold up all behind them; 0: they never did."""
        self.rules = 0
        """The rules that apply to it, or `UNKNOWN`."""
        self.active_rules = 0
        """The rules with lane variables that hold for this lane."""
        self.heads = LaneHeads(queue.name, tenant)
        """Those of `Heads`, from the first time that it names the lane."""
        self.start: int = queue.lanes.virtual
        self.service = Service(self.start)
        self.in_flight = 0
        self.index = 0
        self.key = OUT
        self.active = False
        self.waits_since_us = 0
        """Since when it has waited for service, while active or blocked by the reserve."""
        self.resumes = False
        """Whether it goes on waiting when it is next active, because only the reserve blocked
        it."""
        self.mean = MeanRunTime()
        self.expected_us = queue.prior_us
        """The estimate for a job without a hint."""
        self.hint_max_us = HINT_MAX_US
        """A `cost_hint` counts as this much at most."""
        self.dirty = False
        """Whether the next plan has to settle the fields that follow."""
        self.owed_us = 0
        self.claimed_us = 0
        """How much of that is a refund of claims beyond evidence."""
        self.new_service = NewService()
        self.ended = 0
        self.ran_us = 0
        self.served_us = 0
        """Run time of jobs that ended or were broken off and that no report has counted."""

    def bind_rules(self, rule_set: RuleSet, active_rules: int) -> None:
        """Find the rules that apply to it; `active_rules` hold everywhere."""
        self.rules = self.queue.rules.for_tenant(self.tenant)
        self.terms = self.terms_under(rule_set, active_rules)
        self.weight = self.terms.weight

    def terms_under(self, rule_set: RuleSet, active_rules: int) -> Terms:
        """Return its terms as rules change them; `active_rules` hold everywhere."""
        rules = self.rules & active_rules | self.active_rules
        return rule_set.change(self.own, rules) if rules else self.own

    @property
    def own(self) -> Terms:
        """Its terms without rules, looked up once per policy."""
        rule = self.queue.rule
        if self._own_of is not rule:
            self._own_of, self._own = rule, rule.lane(self.tenant)
        return self._own

    @property
    def band(self) -> int:
        """The band that it is in."""
        return self.queue.band

    @property
    def owner(self) -> tuple[str, str]:
        """The key of its limits, rates and reserve, the same in other bands."""
        return (self.queue.name, self.tenant)


class InFlightJob:
    """A job in `work_queue`."""

    __slots__ = (
        "charged_us",
        "claimed_us",
        "head",
        "lane",
        "queue_charged_us",
        "rank",
        "root_tag",
    )

    def __init__(
        self,
        lane: Lane,
        head: AnyHead | None,
        rank: int,
        root_tag: int,
        charged_us: int,
        queue_charged_us: int,
    ) -> None:
        self.lane = lane
        self.head = head
        self.rank = rank
        self.root_tag = root_tag
        self.charged_us = charged_us
        self.queue_charged_us = queue_charged_us
        """What its queue is charged: what jobs of its lane took, whatever this one claims."""
        self.claimed_us = UNCLAIMED
        """When a worker claimed it, or `UNCLAIMED`, or `CLOSED` once it has left
        `work_queue`; `AHEAD` while it is claimed and has no slot."""


class Queue:
    """A queue, as a member of its pool's level, with its tenants and its unclaimed rows."""

    __slots__ = (
        "active",
        "aged",
        "band",
        "blocked_by",
        "blocked_time",
        "bounds",
        "ended",
        "first",
        "floor_row",
        "foreign",
        "in_flight",
        "index",
        "key",
        "keys",
        "lanes",
        "mean",
        "name",
        "new_service",
        "owed_us",
        "pool",
        "prior_us",
        "ran_us",
        "rows",
        "rule",
        "rules",
        "scale",
        "service",
        "settled_in",
        "start",
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
        self.bounds: Limiter | None = None
        self.blocked_by = FREE
        self.blocked_time: BlockedTime | None = None
        self.until_us = 0
        self.rules = NO_QUEUE_RULES
        self.start = start
        self.service = Service(start)
        self.in_flight = 0
        self.index = 0
        self.key = OUT
        self.active = False
        self.waits_since_us = 0
        self.keys: ConcurrencyKeys[Lane] | None = None
        self.lanes: Level[Lane] = Level(settings.prior_us)
        self.tenants: dict[str, Lane] = {}
        self.aged: dict[tuple[str, int], Lane] = {}
        """Lanes of jobs that came from other bands, by tenant and band."""
        self.scale = 1.0
        """The most that a distance of tenant tags becomes between root tags."""
        self.mean = MeanRunTime()
        self.prior_us = settings.prior_us
        self.owed_us = 0
        self.new_service = NewService()
        self.ended = 0
        self.ran_us = 0
        self.rows: list[InFlightJob] = []
        """Unclaimed rows. Claimed ones leave when they come to the front, all but the last."""
        self.tags: list[int] = []
        """Their tenant tags."""
        self.first = 0
        """Where the first unclaimed row is; behind the end when there is none."""
        self.floor_row: InFlightJob | None = None
        """The row that represents this queue in the claim floor."""
        self.settled_in = 0
        """The plan for which the virtual time of its tenants was last brought up to date."""

    def rescale(self) -> None:
        """Compute the scale from the weights of the queue and its tenants.

        A job moves the tag of its tenant by its cost over the tenant's weight, and that of the
        queue by its cost over the queue's. Where the first is more, rows whose tags kept the
        tenants' distances would be claimed ever later than their queue's turn.
        """
        lightest = min((lane.weight for lane in self.all_lanes()), default=1.0)
        self.scale = lightest / self.weight

    def bind_rules(self, rule_set: RuleSet, active_rules: int) -> None:
        """Find the rules that apply to it; `active_rules` hold."""
        self.rules = rule_set.of(self.name)
        self.terms = self.terms_under(rule_set, active_rules)
        self.weight = self.terms.weight

    def terms_under(self, rule_set: RuleSet, active_rules: int) -> Terms:
        """Return its terms as rules change them; `active_rules` hold."""
        rules = self.rules.own & active_rules
        return rule_set.change(self.rule.own, rules) if rules else self.rule.own

    def new_keys(self) -> ConcurrencyKeys[Lane] | None:
        """Return new keys by its terms and rules; None where nothing blocks single jobs."""
        limits, has_job_rules = self.rule.keys, self.rules.jobs > 0
        return (
            ConcurrencyKeys(limits, has_job_rules=has_job_rules)
            if limits or has_job_rules
            else None
        )

    def all_lanes(self) -> Iterator[Lane]:
        """Yield all lanes."""
        yield from self.tenants.values()
        yield from self.aged.values()

    def lanes_of(self, tenant: str, bands: int) -> Iterator[Lane]:
        """Yield the lanes of one tenant in so many bands, without scanning the others."""
        lane = self.tenants.get(tenant)
        if lane is not None:
            yield lane
        for band in range(self.band + 1, bands):
            lane = self.aged.get((tenant, band))
            if lane is not None:
                yield lane

    def add_served(self, lane: Lane, window: int, now_us: int) -> None:
        """Count what a lane has had for it and for the queue; learn from what has ended."""
        ended, ran_us = lane.ended, lane.ran_us
        if ended:
            self.ran_us += ran_us
            self.ended += ended
            lane.served_us += ran_us
            lane.mean.add(ran_us, ended, window)
            self.lanes.time.learn(ran_us, ended, lane.weight, window)
        self.new_service.add(lane.new_service)
        lane.new_service.count(self.lanes.time, lane, now_us)

    def settle(self, settings: FairSettings) -> None:
        """Learn from what has ended."""
        if self.ended:
            self.mean.add(self.ran_us, self.ended, settings.window)
            self.prior_us = prior_us(self.mean, settings.prior_us)
            self.ran_us = self.ended = 0

    def hint_max_us(self, mean: MeanRunTime) -> int:
        """Return what a hint counts as at most for jobs with this mean run time.

        Before any job of the queue has ended, ten minutes; then ten times as much as jobs take
        here. A job that does take longer is charged for it while it runs.
        """
        if not self.mean.samples:
            return HINT_MAX_US
        return max(_HINT_LEAST_US, 10 * max(self.mean.value_us(0), mean.longest_us))

    def drop_claimed(self) -> InFlightJob | None:
        """Drop claimed rows from the start; return the first unclaimed one (smallest tags)."""
        rows, first = self.rows, self.first
        end = len(rows)
        while first < end and rows[first].claimed_us != UNCLAIMED:
            first += 1
        if first > 256 or first == end > 1:
            del rows[: first - 1], self.tags[: first - 1]
            first = 1
        self.first = first
        return rows[first] if first < len(rows) else None

    def smallest_tag(self) -> int:
        """Return the smallest tenant tag of an unclaimed row, or `NEVER`."""
        return NEVER if self.drop_claimed() is None else self.tags[self.first]

    def place(self, tag: int, job: InFlightJob, floor: int) -> bool:
        """Place a row by its tenant tag; whether it is the first now.

        The last row has the queue's tag, and is at least as far behind the one before it as
        their tenants' tags say, scaled to the queue's. A row that overtakes borrows: its root
        tag lies between those of its neighbours as its tenant tag lies between theirs, so that
        any number of rows can overtake one that is far ahead. In front of the first row it is
        as far ahead as its tenant tag, but by one job at most: that may be below the floor,
        which then follows.
        """
        rows, tags = self.rows, self.tags
        place = bisect_right(tags, tag, lo=self.first)
        if place == self.first < len(rows):
            first = rows[place]
            ahead = (tags[place] - tag) * self.scale
            job.root_tag = first.root_tag - int(min(ahead, first.charged_us / self.weight))
        elif place < len(rows):
            before, before_tag = rows[place - 1], tags[place - 1]
            room = rows[place].root_tag - before.root_tag
            job.root_tag = before.root_tag + room * (tag - before_tag) // (
                tags[place] - before_tag
            )
        else:
            job.root_tag = max(job.root_tag, floor)
            if rows:
                behind = int(max(0, tag - tags[-1]) * self.scale)
                job.root_tag = max(job.root_tag, rows[-1].root_tag + behind)
        rows.insert(place, job)
        tags.insert(place, tag)
        return place == self.first
