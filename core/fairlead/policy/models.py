"""The policy as values: what a document may say, and what each field does.

Documents name fields in camel case. A field that is not here is refused, and every one that is
here has its effect. What is frozen and made by `parse` is valid.
"""

from collections.abc import Mapping
from datetime import timedelta
from typing import Annotated

from pydantic import AfterValidator, BeforeValidator, FailFast, Field, model_validator

from fairlead.policy import kinds
from fairlead.policy.backlog import Backlog
from fairlead.policy.bands import Bands
from fairlead.policy.capacity import Capacity
from fairlead.policy.concurrency import Keys
from fairlead.policy.globs import glob
from fairlead.policy.part import Part, listed, misfit
from fairlead.policy.pools import Pool, Pools
from fairlead.policy.rules import EXPRESSIONS_MAX, Rules
from fairlead.policy.shadow import Shadow
from fairlead.policy.slots import ShortReserve, Slots

RULES_MAX = 1000
WINDOWS_MAX = 8
JOBS_MAX = 1_000_000

Weight = Annotated[float, kinds.number(0.001, 1000)]
_NAMES = "a name or a pattern with * and ?"


class Rate(Part):
    """How many jobs may be dispatched in a time (GCRA: exact, and smooth beyond the burst)."""

    limit: Annotated[int, kinds.whole(1, JOBS_MAX)] = Field(
        description="Jobs that may be dispatched per `per`, evenly spread beyond the burst. "
        "Retries are dispatches too."
    )
    per: Annotated[timedelta, kinds.duration("1ms", "720h")] = Field(
        description="The time that the limit counts for. Two windows of one rate differ in it."
    )
    burst: Annotated[int, kinds.whole(1, JOBS_MAX)] | None = Field(
        default=None,
        description="Jobs that may go at once after a quiet time; not given: as many as the "
        "limit. In any stretch of a time t at most burst + limit x t / per jobs are "
        "dispatched.",
    )

    @property
    def burst_jobs(self) -> int:
        """How many jobs may go at once."""
        return self.limit if self.burst is None else self.burst


def _differ(windows: tuple[Rate, ...]) -> tuple[Rate, ...]:
    """Refuse two windows of one length: the stricter alone would count."""
    seen: set[timedelta] = set()
    for place, window in enumerate(windows):
        if window.per in seen:
            per = kinds.written(window.per)
            said = f"there is a window of {per} before: keep the stricter one"
            raise misfit(said, place, "per")
        seen.add(window.per)
    return windows


Rates = Annotated[
    tuple[Rate, ...],
    FailFast(),
    Field(max_length=WINDOWS_MAX),
    AfterValidator(_differ),
    BeforeValidator(listed, json_schema_input_type=Rate | list[Rate] | None),
]


class TenantTerms(Part):
    """What each tenant of a queue gets that no override names."""

    weight: Weight = Field(
        default=1.0,
        description="The tenant's share of what its queue gets, against the weights of the "
        "queue's other tenants that have work. It counts slot-seconds, not jobs.",
    )
    slots: Slots | None = Field(
        default=None,
        description="How many jobs of the tenant in this queue may be in flight, and how many "
        "go first; null: no limit, no reserve.",
    )
    rate: Rates = Field(
        default=(),
        description="How many jobs of the tenant in this queue may be dispatched in a time: "
        "one window or a list of up to 8 that must all allow a job; null: no limit.",
    )
    backlog: Backlog | None = Field(
        default=None,
        description="How many jobs of the tenant in this queue may be unfinished; null: no "
        "limit.",
    )


class TenantMatch(Part):
    """Which tenants an override is for; where both fields are given, both must fit."""

    tenant: Annotated[str, kinds.name(what=_NAMES, bytes_lowest=0)] | None = Field(
        default=None,
        description="The tenant's name or a pattern: `*` is any text, `?` any one character, "
        'and nothing else is special. "" is the tenant without a name.',
    )
    tenant_label: Annotated[str, kinds.label()] | None = Field(
        default=None,
        description="A label as `name=value` that the tenant must have under `labels`, "
        "exactly.",
    )

    @model_validator(mode="after")
    def _names_somebody(self) -> "TenantMatch":
        if self.tenant is None and self.tenant_label is None:
            raise ValueError("matches nobody: give tenant or tenantLabel")
        return self

    def fits(self, tenant: str, labels: Mapping[str, str]) -> bool:
        """Tell whether a tenant that has these labels is meant."""
        if self.tenant is not None and not glob(self.tenant).matches(tenant):
            return False
        if self.tenant_label is None:
            return True
        label, _, value = self.tenant_label.partition("=")
        return labels.get(label) == value


class TenantRule(Part):
    """What some tenants of a queue get instead; the first override that matches counts."""

    match: TenantMatch = Field(description="Which tenants.")
    weight: Weight = Field(
        default=1.0, description="As in `default`, from where it comes when it is not given."
    )
    slots: Slots | None = Field(
        default=None,
        description="As in `default`, from where all of it comes when it is not given; null: "
        "no limit, no reserve.",
    )
    rate: Rates = Field(
        default=(),
        description="As in `default`, from where it comes when it is not given; null: no "
        "limit.",
    )
    backlog: Backlog | None = Field(
        default=None,
        description="As in `default`, from where it comes when it is not given; null: no "
        "limit.",
    )

    def over(self, default: TenantTerms) -> TenantTerms:
        """Return the terms of its tenants: what it gives, and the rest from the default."""
        given = self.model_fields_set & TenantTerms.model_fields.keys()
        return default.model_copy(update={name: getattr(self, name) for name in given})


class Tenants(Part):
    """How the tenants of a queue share it."""

    default: TenantTerms = Field(
        default=TenantTerms(), description="For every tenant that no override names."
    )
    overrides: Annotated[tuple[TenantRule, ...], FailFast()] = Field(
        default=(),
        max_length=RULES_MAX,
        description="For some tenants; the first one that matches counts, alone. At most 1000.",
    )

    def terms_of(self, tenant: str, labels: Mapping[str, str]) -> TenantTerms:
        """Return the terms of a tenant that has these labels."""
        for rule in self.overrides:
            if rule.match.fits(tenant, labels):
                return rule.over(self.default)
        return self.default


class QueueMatch(Part):
    """Which queues a rule is for."""

    queue: Annotated[str, kinds.name(what=_NAMES)] = Field(
        description="The queue's name or a pattern: `*` is any text, `?` any one character, "
        "and nothing else is special; case counts."
    )


class QueueRule(Part):
    """How some queues share the workers; each queue that matches has all of it for itself."""

    match: QueueMatch = Field(description="Which queues.")
    weight: Weight = Field(
        default=1.0,
        description="The queue's share of its pool, against the weights of the other queues "
        "that have work. It counts slot-seconds, not jobs.",
    )
    slots: Slots | None = Field(
        default=None,
        description="How many jobs of the queue may be in flight, over all tenants, and how "
        "many go first; null: no limit, no reserve.",
    )
    rate: Rates = Field(
        default=(),
        description="How many jobs of the queue may be dispatched in a time, over all "
        "tenants: one window or a list of up to 8 that must all allow a job; null: no limit.",
    )
    backlog: Backlog | None = Field(
        default=None,
        description="How many jobs of the queue may be unfinished, over all tenants; null: no "
        "limit.",
    )
    concurrency: Keys = Field(
        default=(),
        description="How many jobs of one value of a key may be in flight, such as one for "
        "each account: one key or a list of up to 4 that must all allow a job; null: no limit.",
    )
    band: Annotated[str, kinds.name(what="a band's name")] | None = Field(
        default=None,
        description="The band of the queue's jobs, one of `bands`; null: by their priority.",
    )
    tenants: Tenants = Field(
        default=Tenants(), description="How the queue's tenants share what the queue gets."
    )


class Estimator(Part):
    """How the cost of a job is guessed until its end shows it."""

    prior: Annotated[timedelta, kinds.duration("1ms", "24h")] = Field(
        default=timedelta(milliseconds=100),
        description="What a job is taken to cost before any of its queue has ended. After "
        "that it is twice the queue's mean.",
    )
    prior_samples: Annotated[int, kinds.whole(1, 1000)] = Field(
        default=4,
        description="For how many ended jobs that guess counts in a lane's mean: more is "
        "slower to believe a few cheap jobs.",
    )
    window: Annotated[int, kinds.whole(1, 100_000)] = Field(
        default=200,
        description="Over how many ended jobs a mean goes: fewer follows a change sooner, "
        "more is steadier.",
    )


class Fairness(Part):
    """How the fair order works."""

    inflight_share_cap: Annotated[float, kinds.number(1, 1000)] | None = Field(
        default=2.0,
        description="While others wait, a lane with more than this many times its fair share "
        "of the slots in flight stands back; null: never.",
    )
    refresh: Annotated[timedelta, kinds.duration("1ms", "60s")] = Field(
        default=timedelta(milliseconds=25),
        description="How often a running job that outlasts its estimate is charged for that. "
        "It is less often with thousands in flight.",
    )
    reserve: ShortReserve | None = Field(
        default=None,
        description="Slots that jobs which may be long leave free for short ones; null: none.",
    )
    estimator: Estimator = Field(
        default=Estimator(), description="How the cost of a job is guessed."
    )


class Policy(Part):
    """How queues and tenants share the workers."""

    version: Annotated[int | str, kinds.version()] | None = Field(
        default=None,
        description="Your own number or word for this document, shown beside the digest in "
        "metrics and lists. It decides nothing.",
    )
    fairness: Fairness = Field(default=Fairness(), description="Settings of the order itself.")
    capacity: Capacity = Field(
        default=Capacity(),
        description="How far ahead of the workers jobs are dispatched.",
    )
    bands: Bands = Field(
        default=(),
        description="Bands of jobs from the one that goes first to the one that goes last, two "
        "to eight: strict between bands, fair inside each. A job belongs to the band that its "
        "queue names, else to the one that has its priority, else to the last. Not given: one "
        "band.",
    )
    pools: Pools = Field(
        default=(),
        description="Which pool of workers serves which queues, 1 to 20 pools; a queue that "
        "none names is not dispatched, and `fairlead explain` and `fairlead doctor` say so. "
        "Not given: the pool of the scheduler's FAIRLEAD_POOL serves all.",
    )
    labels: Mapping[
        Annotated[str, kinds.name(what="a tenant's name", bytes_lowest=0)],
        Mapping[
            Annotated[str, kinds.label_key()],
            Annotated[str, kinds.name(what="a label's value", bytes_lowest=0)],
        ],
    ] = Field(
        default_factory=dict[str, Mapping[str, str]],
        description="Labels of tenants, for `tenantLabel`: tenant, label, value.",
    )
    queues: Annotated[tuple[QueueRule, ...], FailFast()] = Field(
        default=(),
        max_length=RULES_MAX,
        description="Rules for queues; the first one that matches counts, alone. A queue that "
        "none matches has weight 1 and no limit. At most 1000.",
    )
    rules: Rules = Field(
        default=(),
        max_length=EXPRESSIONS_MAX,
        description="What holds while a condition is true: all of them count, whatever their "
        "order. At most 100.",
    )
    shadow: Shadow | None = Field(
        default=None,
        description="A stored policy that is simulated beside this one, and obeyed in nothing; "
        "null: none. `fairlead policy shadow` shows what it would do.",
    )

    def rule_of(self, queue: str) -> QueueRule | None:
        """Return the rule of a queue; None: it has weight 1 and no limit."""
        return next(
            (rule for rule in self.queues if glob(rule.match.queue).matches(queue)), None
        )

    def pool_of(self, queue: str) -> Pool | None:
        """Return the pool that serves a queue; None: none, or the policy names none."""
        every = ((pool, name) for pool in self.pools for name in pool.queues)
        return next((pool for pool, name in every if glob(name).matches(queue)), None)

    def labels_of(self, tenant: str) -> Mapping[str, str]:
        """Return the labels of a tenant."""
        return self.labels.get(tenant, {})
