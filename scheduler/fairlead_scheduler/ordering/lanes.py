"""The leader's state of lanes and queues."""

from collections.abc import Iterator

from fairlead_scheduler.limits.blocked_reasons import FREE
from fairlead_scheduler.limits.blocked_time import BlockedTime
from fairlead_scheduler.limits.concurrency_keys import ConcurrencyKeys
from fairlead_scheduler.limits.kind_limits import KindLimits
from fairlead_scheduler.limits.limiter import Limiter
from fairlead_scheduler.ordering.levels.accounts import Account, Branch
from fairlead_scheduler.ordering.run_time import MeanRunTime, prior_us
from fairlead_scheduler.pending.cursors import LaneHeads
from fairlead_scheduler.policy.compiled import QueueTerms, Terms
from fairlead_scheduler.policy.rules import NO_QUEUE_RULES, RuleSet
from fairlead_scheduler.policy.settings import FairSettings

UNKNOWN = -1
HINT_MAX_US = 600_000_000
_HINT_LEAST_US = 1_000_000


class Lane:
    """The jobs of a tenant in a queue; what they take is charged to the tenant's account."""

    __slots__ = (
        "_own",
        "_own_of",
        "account",
        "active",
        "active_rules",
        "aged",
        "blocked_by",
        "blocked_time",
        "bounds",
        "dirty",
        "ended",
        "expected_us",
        "heads",
        "hint_max_us",
        "in_flight",
        "mean",
        "offered",
        "queue",
        "ran_dry",
        "ran_us",
        "reread_us",
        "resumes",
        "rules",
        "served_us",
        "tenant",
        "terms",
        "turn_tag",
        "until_us",
        "waits_since_us",
    )

    def __init__(self, queue: "Queue", tenant: str, terms: Terms) -> None:
        self.queue = queue
        self._own_of, self._own = queue.rule, terms
        self.tenant = tenant
        self.aged: int | None = None
        """The band from which its jobs came because they waited too long there."""
        self.terms = terms
        self.account: Account
        """That of its tenant in the branch of its queue; the ledger gives it one at once."""
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
        self.in_flight = 0
        self.active = False
        """Whether it waits for service."""
        self.offered = False
        """Whether it has a job at hand, so that it may have its account's turn."""
        self.turn_tag = 0
        """What its jobs have been expected to take: its place among its account's lanes."""
        self.waits_since_us = 0
        """Since when it has waited for service, while active or blocked by the reserve."""
        self.resumes = False
        """Whether it goes on waiting when it is next active, because only the reserve blocked
        it."""
        self.ran_dry = False
        """Whether it had nothing pending since it last began to wait."""
        self.mean = MeanRunTime()
        self.expected_us = queue.prior_us
        """The estimate for a job without a hint."""
        self.hint_max_us = HINT_MAX_US
        """A `cost_hint` counts as this much at most."""
        self.dirty = False
        """Whether the next plan has to settle the fields that follow."""
        self.ended = 0
        self.ran_us = 0
        self.served_us = 0
        """Run time of jobs that ended or were broken off and that no report has counted."""

    def hinted_us(self, hint_us: int, prior_samples: int) -> int:
        """Return the estimate for a job with this hint: no less than for one without.

        If a hint could lower it, one turn of a lane of which nothing is known would take all
        slots with long jobs that claim to be short.
        """
        hint_us = min(hint_us, self.hint_max_us)
        return max(self.expected_us, self.mean.shrunk_us(hint_us, prior_samples))

    def count_in_flight(self, jobs: int) -> None:
        """Count so many more jobs in flight, below zero fewer."""
        self.in_flight += jobs
        self.queue.in_flight += jobs
        self.account.in_flight += jobs
        self.account.branch.in_flight += jobs

    def take_turn(self, jobs: int, expected_us: int) -> None:
        """Count jobs of one turn, which are expected to take so long, in all but the branch."""
        self.turn_tag += expected_us
        self.in_flight += jobs
        self.queue.in_flight += jobs
        self.account.in_flight += jobs

    def bind_rules(self, rule_set: RuleSet, active_rules: int) -> None:
        """Find the rules that apply to it; `active_rules` hold everywhere."""
        self.rules = self.queue.rules.for_tenant(self.tenant)
        self.terms = self.terms_under(rule_set, active_rules)

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
    def weight(self) -> float:
        """Its weight by its terms."""
        return self.terms.weight

    @property
    def start(self) -> int:
        """The start tag of its account."""
        return self.account.start

    @property
    def band(self) -> int:
        """The band that it is in."""
        return self.queue.band

    @property
    def owner(self) -> tuple[str, str]:
        """The key of its limits, rates and reserve, the same in other bands."""
        return (self.queue.name, self.tenant)


class Queue:
    """A queue, with its tenants; what its jobs take is charged to its branch."""

    __slots__ = (
        "aged",
        "band",
        "blocked_by",
        "blocked_time",
        "bounds",
        "branch",
        "ended",
        "foreign",
        "in_flight",
        "keys",
        "mean",
        "name",
        "pool",
        "prior_us",
        "ran_us",
        "rule",
        "rules",
        "tenants",
        "terms",
        "until_us",
    )

    def __init__(
        self, name: str, rule: QueueTerms, settings: FairSettings, *, band: int = 0
    ) -> None:
        self.name = name
        self.pool = 0
        """The place of the pool that it is in."""
        self.foreign = False
        """Whether it belongs to another pool now, and is here for what is in flight."""
        self.band = band
        self.rule = rule
        self.terms = rule.own
        self.branch: Branch
        """Its own, or that of all queues without a name in the policy; the ledger gives it."""
        self.bounds: Limiter | None = None
        self.blocked_by = FREE
        self.blocked_time: BlockedTime | None = None
        self.until_us = 0
        self.rules = NO_QUEUE_RULES
        self.in_flight = 0
        self.keys: ConcurrencyKeys[Lane] | None = None
        self.tenants: dict[str, Lane] = {}
        self.aged: dict[tuple[str, int], Lane] = {}
        """Lanes of jobs that came from other bands, by tenant and band."""
        self.mean = MeanRunTime()
        self.prior_us = settings.prior_us
        self.ended = 0
        self.ran_us = 0

    @property
    def weight(self) -> float:
        """Its weight by its terms."""
        return self.terms.weight

    @property
    def is_named(self) -> bool:
        """Whether an entry or a rule of the policy gives it a share of its own."""
        return self.rule.has_share or self.rules.own > 0

    @property
    def active(self) -> bool:
        """Whether its branch waits for service."""
        return self.branch.active

    @property
    def waits_since_us(self) -> int:
        """Since when its branch has waited for service, while active."""
        return self.branch.waits_since_us

    def bind_rules(self, rule_set: RuleSet, active_rules: int) -> None:
        """Find the rules that apply to it; `active_rules` hold."""
        self.rules = rule_set.of(self.name)
        self.terms = self.terms_under(rule_set, active_rules)

    def terms_under(self, rule_set: RuleSet, active_rules: int) -> Terms:
        """Return its terms as rules change them; `active_rules` hold."""
        rules = self.rules.own & active_rules
        return rule_set.change(self.rule.own, rules) if rules else self.rule.own

    def new_keys(self, kinds: KindLimits[Lane]) -> ConcurrencyKeys[Lane] | None:
        """Return new keys by its terms and rules; None where nothing blocks single jobs."""
        limits, has_job_rules = self.rule.keys, self.rules.jobs > 0
        watched = kinds if kinds.watches(self.name) else None
        if not (limits or has_job_rules or watched is not None):
            return None
        return ConcurrencyKeys(
            limits, has_job_rules=has_job_rules, kinds=watched, queue=self.name
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

    def learn(self, lane: Lane, window: int) -> None:
        """Learn from what has ended in a lane."""
        ended, ran_us, branch = lane.ended, lane.ran_us, lane.account.branch
        for member in (self, branch):
            member.ran_us += ran_us
            member.ended += ended
        lane.served_us += ran_us
        lane.mean.add(ran_us, ended, window)
        branch.accounts.time.learn(ran_us, ended, lane.account, window)

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
