"""The terms on which lanes and queues are served: a policy, compiled to a table.

A table never changes. The first entry of the policy that matches counts, so names are looked up
in a dictionary, and only patterns are tried one by one.
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
from fairlead_scheduler.homes import Homes, homes
from fairlead_scheduler.keys import Demand
from fairlead_scheduler.matches import FirstMatch
from fairlead_scheduler.rates import Rate
from fairlead_scheduler.rulebook import Effects, RuleBook, lesser
from fairlead_scheduler.values import FairSettings, ShortSettings

NO_LIMIT = 1 << 62
_NO_CAP = 1e9
_WEIGHT_LOWEST, _WEIGHT_MAX = 0.001, 1000.0
_MICROSECOND = timedelta(microseconds=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """What a lane or a queue is entitled to."""

    weight: float = 1.0
    limit: int | None = None
    """Jobs in `work_queue`, queued or running."""
    limit_per_10_000: int | None = None
    """The same for each ten thousand live slots of the pool."""
    reserve: int | None = None
    """With fewer jobs than this in `work_queue` its next one goes first."""
    reserve_per_10_000: int | None = None
    rates: tuple[Rate, ...] = ()
    """All of them must allow a dispatch."""
    held_by: str | None = None
    """The rule that lets nothing be dispatched."""

    @property
    def bounded(self) -> bool:
        """Whether there is a limit, a rate or a hold."""
        unlimited = self.limit is None and self.limit_per_10_000 is None
        return bool(self.rates) or not unlimited or self.held_by is not None

    def binds_as(self, other: "Terms") -> bool:
        """Whether at most the weight is another one."""
        return _all_but_weight(self) == _all_but_weight(other)

    def limit_of(self, slots: int) -> int:
        """Return the limit beside so many live slots: the smallest, and 0 under a hold.

        A share is rounded up, and 1 at least.
        """
        if self.held_by is not None:
            return 0
        limit = NO_LIMIT if self.limit is None else self.limit
        if self.limit_per_10_000 is not None:
            limit = min(limit, _share(slots, self.limit_per_10_000))
        return limit

    def under(self, effects: Effects) -> "Terms":
        """Return these terms with what rules change of them."""
        return replace(
            self,
            weight=min(max(self.weight * effects.factor, _WEIGHT_LOWEST), _WEIGHT_MAX),
            limit=lesser(self.limit, effects.limit),
            limit_per_10_000=lesser(self.limit_per_10_000, effects.limit_per_10_000),
            held_by=effects.held_by,
        )

    def reserve_of(self, slots: int) -> int:
        """Return the reserve beside so many live slots, rounded as a limit is; 0 for none."""
        if self.reserve_per_10_000 is not None:
            return _share(slots, self.reserve_per_10_000)
        return self.reserve or 0


def _share(slots: int, per_10_000: int) -> int:
    return max(1, -(-slots * per_10_000 // 10_000))


_all_but_weight = attrgetter(*(each.name for each in fields(Terms) if each.name != "weight"))
_FREE = Terms()


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueTerms:
    """The terms of a queue, and of its tenants."""

    own: Terms = _FREE
    default: Terms = _FREE
    overrides: FirstMatch[Terms] = field(default_factory=FirstMatch[Terms])
    keys: tuple[Demand, ...] = ()
    """All of them must allow a job."""
    band: int | None = None
    """Where its jobs belong; None: by their ranks."""

    def lane(self, tenant: str) -> Terms:
        """Return a tenant's terms."""
        return self.overrides.find(tenant) or self.default


_UNNAMED = QueueTerms()
_NO_RULES = RuleBook(Policy())


@dataclass(frozen=True, slots=True, kw_only=True)
class Bands:
    """The bands from the one that goes first to the one that goes last; one without a name."""

    names: tuple[str, ...] = ("",)
    waits_us: tuple[int, ...] = (0,)
    """How long the first job of a lane may wait in each; of no meaning in the first."""
    ranks: tuple[tuple[int, int, int], ...] = ()
    """Lowest and highest rank of a band, and its place."""

    @property
    def count(self) -> int:
        """How many there are."""
        return len(self.names)

    def of_rank(self, rank: int) -> int:
        """Return the band of a job by its rank: the last, where no band has it."""
        for lowest, highest, band in self.ranks:
            if lowest <= rank <= highest:
                return band
        return len(self.names) - 1


_ONE_BAND = Bands()
_NO_HOMES = Homes()


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """A policy as the fair order reads it. A queue that nothing matches is free of bounds."""

    queues: FirstMatch[QueueTerms] = field(default_factory=FirstMatch[QueueTerms])
    settings: FairSettings = field(default_factory=FairSettings)
    rules: RuleBook = _NO_RULES
    """What holds while conditions are true."""
    bands: Bands = _ONE_BAND
    depth_ceiling: int | None = None
    """Of a pool's unclaimed rows; None: as the settings say."""
    homes: Homes = _NO_HOMES
    """Which pools serve which queues."""
    digest: str = ""
    version: str = ""
    """The operator's own word for it."""
    shadow: Shadow | None = None
    """Another policy, to be simulated beside it."""
    stored: int = 0
    """Its number in `policy_versions`; 0 is what holds without a policy."""

    def queue(self, name: str) -> QueueTerms:
        """Return the terms of a queue."""
        return self.queues.find(name) or _UNNAMED

    def band_of(self, queue: str, rank: int) -> int:
        """Return the band of a queue's jobs of this rank."""
        if self.bands.count == 1:
            return 0
        band = self.queue(queue).band
        return self.bands.of_rank(rank) if band is None else band


def compiled(policy: Policy, *, stored: int = 0, disabled: Sequence[str] = ()) -> Table:
    """Return a policy as a table, without the rules that had to be disabled."""
    return Table(
        queues=FirstMatch(
            (glob(rule.match.queue), _queue_terms(rule, policy)) for rule in policy.queues
        ),
        settings=_settings(policy.fairness),
        rules=RuleBook(policy, disabled) if policy.rules else _NO_RULES,
        bands=_bands(policy.bands),
        depth_ceiling=policy.capacity.depth_ceiling,
        homes=homes(policy.pools) if policy.pools else _NO_HOMES,
        digest=digest(policy),
        version="" if policy.version is None else str(policy.version),
        shadow=policy.shadow,
        stored=stored,
    )


def _settings(fairness: Fairness) -> FairSettings:
    cap, estimator = fairness.inflight_share_cap, fairness.estimator
    return FairSettings(
        inflight_share_cap=_NO_CAP if cap is None else cap,
        prior_us=estimator.prior // _MICROSECOND,
        prior_samples=estimator.prior_samples,
        window=estimator.window,
        refresh_us=fairness.refresh // _MICROSECOND,
        short=None if fairness.reserve is None else _short(fairness.reserve),
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
        own=_terms(rule.weight, rule.slots, rule.rate),
        default=_terms(default.weight, default.slots, default.rate),
        band=_band(rule.band, policy),
        overrides=FirstMatch(
            (tenants_of(match, policy), _terms(terms.weight, terms.slots, terms.rate))
            for match, terms in overridden
        ),
        keys=tuple(
            Demand(each.key, each.limit, each.scope == TENANT) for each in rule.concurrency
        ),
    )


def _band(name: str | None, policy: Policy) -> int | None:
    if name is None:
        return None
    return next(place for place, band in enumerate(policy.bands) if band.name == name)


def tenants_of(match: TenantMatch, policy: Policy) -> frozenset[str] | Glob:
    """Return whom an override is for; a label is resolved to those who have it."""
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
