"""A policy, compiled to a table of the terms on which lanes and queues are served.

A table never changes. The first entry of the policy that matches counts: names are looked up in
a dictionary, and only patterns are tried one by one.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, fields, replace
from datetime import timedelta
from operator import attrgetter

from fairlead.policy import (
    Band,
    Fairness,
    Glob,
    Policy,
    QueueRule,
    Shadow,
    ShortReserve,
    Slots,
    TenantMatch,
    digest,
    glob,
)
from fairlead.policy import Rate as Window
from fairlead.policy.concurrency import TENANT
from fairlead_scheduler.policy.first_match import FirstMatch
from fairlead_scheduler.policy.gcra import Rate
from fairlead_scheduler.policy.pool_routing import PoolRouting, compile_pools
from fairlead_scheduler.policy.rules import Effects, RuleSet, smaller_limit
from fairlead_scheduler.policy.settings import FairSettings, KeyLimit, ShortSettings

NO_LIMIT = 1 << 62
_NO_CAP = 1e9
_WEIGHT_LOWEST, _WEIGHT_MAX = 0.001, 1000.0
_MICROSECOND = timedelta(microseconds=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """The weight, limits, reserve and rates of a lane or a queue."""

    weight: float = 1.0
    limit: int | None = None
    """Jobs in `work_queue`, queued or running."""
    limit_per_10_000: int | None = None
    """The same, for each ten thousand live slots of the pool."""
    reserve: int | None = None
    """With fewer jobs than this in `work_queue` its next one goes first."""
    reserve_per_10_000: int | None = None
    rates: tuple[Rate, ...] = ()
    """All of them must allow a dispatch."""
    blocking_rule: str | None = None
    """The name of the rule that blocks every dispatch."""

    @property
    def is_bounded(self) -> bool:
        """Whether there is a limit, a rate or a hold."""
        unlimited = self.limit is None and self.limit_per_10_000 is None
        return bool(self.rates) or not unlimited or self.blocking_rule is not None

    def equals_but_weight(self, other: "Terms") -> bool:
        """Whether these terms differ from others in the weight at most."""
        return _all_but_weight(self) == _all_but_weight(other)

    def limit_of(self, slots: int) -> int:
        """Return the limit with so many live slots: the smallest one, or 0 under a hold.

        A share is rounded up and at least 1.
        """
        if self.blocking_rule is not None:
            return 0
        limit = NO_LIMIT if self.limit is None else self.limit
        if self.limit_per_10_000 is not None:
            limit = min(limit, _share(slots, self.limit_per_10_000))
        return limit

    def under(self, effects: Effects) -> "Terms":
        """Return these terms as changed by rules."""
        return replace(
            self,
            weight=min(max(self.weight * effects.factor, _WEIGHT_LOWEST), _WEIGHT_MAX),
            limit=smaller_limit(self.limit, effects.limit),
            limit_per_10_000=smaller_limit(self.limit_per_10_000, effects.limit_per_10_000),
            blocking_rule=effects.blocking_rule,
        )

    def reserve_of(self, slots: int) -> int:
        """Return the reserve with so many live slots, rounded as a limit is; 0 for none."""
        if self.reserve_per_10_000 is not None:
            return _share(slots, self.reserve_per_10_000)
        return self.reserve or 0


def _share(slots: int, per_10_000: int) -> int:
    return max(1, -(-slots * per_10_000 // 10_000))


_all_but_weight = attrgetter(*(each.name for each in fields(Terms) if each.name != "weight"))
_FREE = Terms()


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueTerms:
    """The terms of a queue and of its tenants."""

    own: Terms = _FREE
    default: Terms = _FREE
    overrides: FirstMatch[Terms] = field(default_factory=FirstMatch[Terms])
    keys: tuple[KeyLimit, ...] = ()
    """All of them must allow a job."""
    band: int | None = None
    """The band of its jobs; None: by their ranks."""
    has_share: bool = True
    """Whether it has a share of its own, and not one with all others that have none."""

    def lane(self, tenant: str) -> Terms:
        """Return a tenant's terms."""
        return self.overrides.find(tenant) or self.default


_UNNAMED = QueueTerms(has_share=False)
_NO_RULES = RuleSet(Policy())


@dataclass(frozen=True, slots=True, kw_only=True)
class Bands:
    """The bands, the one that goes first first; without bands, a single one without a name."""

    names: tuple[str, ...] = ("",)
    waits_us: tuple[int, ...] = (0,)
    """How long the first job of a lane may wait in each band; unused in the first."""
    ranks: tuple[tuple[int, int, int], ...] = ()
    """Lowest and highest rank of a band, and its place."""

    @property
    def count(self) -> int:
        """The number of bands."""
        return len(self.names)

    def of_rank(self, rank: int) -> int:
        """Return the band of a job by its rank: the last one if no band has that rank."""
        for lowest, highest, band in self.ranks:
            if lowest <= rank <= highest:
                return band
        return len(self.names) - 1


_ONE_BAND = Bands()
_NO_ROUTING = PoolRouting()


@dataclass(frozen=True, slots=True, kw_only=True)
class CompiledPolicy:
    """A policy as the fair order reads it. A queue that no rule matches is unbounded."""

    queues: FirstMatch[QueueTerms] = field(default_factory=FirstMatch[QueueTerms])
    settings: FairSettings = field(default_factory=FairSettings)
    rules: RuleSet = _NO_RULES
    """Rules that apply while their conditions are true."""
    bands: Bands = _ONE_BAND
    depth_ceiling: int | None = None
    """The ceiling of a pool's unclaimed rows; None: the settings' `queued_max`."""
    routing: PoolRouting = _NO_ROUTING
    """Which pools serve which queues."""
    digest: str = ""
    version: str = ""
    """The version that the operator wrote into the document."""
    shadow: Shadow | None = None
    """Another policy, to be simulated alongside."""
    stored: int = 0
    """Its number in `policy_versions`; 0 stands for no stored policy."""

    def queue(self, name: str) -> QueueTerms:
        """Return the terms of a queue."""
        return self.queues.find(name) or _UNNAMED

    def band_of(self, queue: str, rank: int) -> int:
        """Return the band of a queue's jobs of this rank."""
        if self.bands.count == 1:
            return 0
        band = self.queue(queue).band
        return self.bands.of_rank(rank) if band is None else band


def compile_policy(
    policy: Policy, *, stored: int = 0, disabled: Sequence[str] = ()
) -> CompiledPolicy:
    """Compile a policy to a table, without its disabled rules."""
    return CompiledPolicy(
        queues=FirstMatch(
            (glob(rule.match.queue), _queue_terms(rule, policy)) for rule in policy.queues
        ),
        settings=_settings(policy.fairness),
        rules=RuleSet(policy, disabled) if policy.rules else _NO_RULES,
        bands=_bands(policy.bands),
        depth_ceiling=policy.capacity.depth_ceiling,
        routing=compile_pools(policy.pools) if policy.pools else _NO_ROUTING,
        digest=digest(policy),
        version="" if policy.version is None else str(policy.version),
        shadow=policy.shadow,
        stored=stored,
    )


def _settings(fairness: Fairness) -> FairSettings:
    cap, estimator = fairness.inflight_share_cap, fairness.estimator
    eviction = fairness.eviction
    return FairSettings(
        inflight_share_cap=_NO_CAP if cap is None else cap,
        prior_us=estimator.prior // _MICROSECOND,
        prior_samples=estimator.prior_samples,
        window=estimator.window,
        refresh_us=fairness.refresh // _MICROSECOND,
        short=None if fairness.reserve is None else _short(fairness.reserve),
        evict_after_us=None if eviction is None else eviction.after // _MICROSECOND,
    )


def _bands(bands: Sequence[Band]) -> Bands:
    if not bands:
        return _ONE_BAND
    return Bands(
        names=tuple(band.name for band in bands),
        waits_us=tuple((band.max_wait or timedelta()) // _MICROSECOND for band in bands),
        ranks=tuple(
            (-band.priorities.highest, -band.priorities.lowest, place)
            for place, band in enumerate(bands)
            if band.priorities is not None
        ),
    )


def _short(reserve: ShortReserve) -> ShortSettings:
    return ShortSettings(
        per_10_000=round(reserve.percent * 100),
        lowest=reserve.min,
        shorter_us=reserve.shorter_than // _MICROSECOND,
    )


def _queue_terms(rule: QueueRule, policy: Policy) -> QueueTerms:
    default = rule.tenants.default
    overridden = [(each.match, each.over(default)) for each in rule.tenants.overrides]
    return QueueTerms(
        own=_terms(1.0 if rule.weight is None else rule.weight, rule.slots, rule.rate),
        has_share=rule.weight is not None,
        default=_terms(default.weight, default.slots, default.rate),
        band=_band(rule.band, policy),
        overrides=FirstMatch(
            (tenants_of(match, policy), _terms(terms.weight, terms.slots, terms.rate))
            for match, terms in overridden
        ),
        keys=tuple(
            KeyLimit(each.key, each.limit, each.scope == TENANT) for each in rule.concurrency
        ),
    )


def _band(name: str | None, policy: Policy) -> int | None:
    if name is None:
        return None
    return next(place for place, band in enumerate(policy.bands) if band.name == name)


def tenants_of(match: TenantMatch, policy: Policy) -> frozenset[str] | Glob:
    """Return the tenants of an override; a label is resolved to the tenants that have it."""
    if match.tenant_label is None and match.tenant is not None:
        return glob(match.tenant)
    return frozenset(
        tenant for tenant, labels in policy.labels.items() if match.fits(tenant, labels)
    )


def _terms(weight: float, slots: Slots | None, windows: tuple[Window, ...]) -> Terms:
    return Terms(
        weight=weight,
        limit=None if slots is None else slots.count,
        limit_per_10_000=None if slots is None else _per_10_000(slots.percent),
        reserve=None if slots is None else slots.reserve_count,
        reserve_per_10_000=None if slots is None else _per_10_000(slots.reserve_percent),
        rates=tuple(
            Rate(window.limit, window.per // _MICROSECOND, window.burst_jobs)
            for window in windows
        ),
    )


def _per_10_000(percent: float | None) -> int | None:
    return None if percent is None else round(percent * 100)
