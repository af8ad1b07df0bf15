"""The models of a policy document: its fields, their bounds and what each does.

Documents name fields in camel case. Unknown fields are refused. Models are frozen, and those
that `parse` returns are valid.
"""

from collections.abc import Mapping
from datetime import timedelta
from typing import Annotated

from pydantic import AfterValidator, BeforeValidator, FailFast, Field, model_validator

from fairlead.policy import value_types
from fairlead.policy.backlog import Backlog
from fairlead.policy.bands import Bands
from fairlead.policy.capacity import Capacity
from fairlead.policy.concurrency import Keys
from fairlead.policy.eviction import Eviction
from fairlead.policy.globs import glob
from fairlead.policy.mapping import MappingModel, as_list, entry_error
from fairlead.policy.pools import Pool, Pools
from fairlead.policy.rules import EXPRESSIONS_MAX, Rules
from fairlead.policy.shadow import Shadow
from fairlead.policy.slots import ShortReserve, Slots

RULES_MAX = 1000
WINDOWS_MAX = 8
JOBS_MAX = 1_000_000

Weight = Annotated[float, value_types.number(0.001, 1000)]
_NAMES = "a name or a pattern with * and ?"


class Rate(MappingModel):
    """How many jobs may be dispatched per time (GCRA: exact, and smooth beyond the burst)."""

    limit: Annotated[int, value_types.integer(1, JOBS_MAX)] = Field(
        description="Jobs that may be dispatched per `per`, evenly spread beyond the burst. "
        "Retries count too."
    )
    per: Annotated[timedelta, value_types.duration("1ms", "720h")] = Field(
        description="Length of the window. Windows of one rate must differ in length."
    )
    burst: Annotated[int, value_types.integer(1, JOBS_MAX)] | None = Field(
        default=None,
        description="Jobs that may be dispatched at once after an idle time; default: the "
        "limit. In any time t at most burst + limit x t / per jobs are dispatched.",
    )

    @property
    def burst_jobs(self) -> int:
        """How many jobs may be dispatched at once."""
        return self.limit if self.burst is None else self.burst


def _differ(windows: tuple[Rate, ...]) -> tuple[Rate, ...]:
    """Refuse two windows of one length: only the stricter one would have an effect."""
    seen: set[timedelta] = set()
    for place, window in enumerate(windows):
        if window.per in seen:
            per = value_types.format_duration(window.per)
            message = f"there is a window of {per} before: keep the stricter one"
            raise entry_error(message, place, "per")
        seen.add(window.per)
    return windows


Rates = Annotated[
    tuple[Rate, ...],
    FailFast(),
    Field(max_length=WINDOWS_MAX),
    AfterValidator(_differ),
    BeforeValidator(as_list, json_schema_input_type=Rate | list[Rate] | None),
]


class TenantTerms(MappingModel):
    """Settings of each tenant of a queue that no override matches."""

    weight: Weight = Field(
        default=1.0,
        description="The tenant's share of its queue's slot-seconds, relative to the weights "
        "of the queue's other tenants that have jobs.",
    )
    slots: Slots | None = Field(
        default=None,
        description="How many jobs of the tenant in this queue may be in flight, and how many "
        "go before others; null: no limit, no reserve.",
    )
    rate: Rates = Field(
        default=(),
        description="How many jobs of the tenant in this queue may be dispatched per time: "
        "one window or a list of up to 8 that must all allow a job; null: no limit.",
    )
    backlog: Backlog | None = Field(
        default=None,
        description="How many jobs of the tenant in this queue may be unfinished; null: no "
        "limit.",
    )


class TenantMatch(MappingModel):
    """The tenants that an override applies to; if both fields are given, both must match."""

    tenant: Annotated[str, value_types.name(what=_NAMES, bytes_lowest=0)] | None = Field(
        default=None,
        description="The tenant's name or a pattern: `*` is any text, `?` any one character, "
        'and no other character is special. "" is the tenant without a name.',
    )
    tenant_label: Annotated[str, value_types.label()] | None = Field(
        default=None,
        description="A label as `name=value` that the tenant must have under `labels`, "
        "exactly.",
    )

    @model_validator(mode="after")
    def _is_not_empty(self) -> "TenantMatch":
        if self.tenant is None and self.tenant_label is None:
            raise ValueError("matches no tenant: give tenant or tenantLabel")
        return self

    def fits(self, tenant: str, labels: Mapping[str, str]) -> bool:
        """Return whether it matches a tenant with these labels."""
        if self.tenant is not None and not glob(self.tenant).matches(tenant):
            return False
        if self.tenant_label is None:
            return True
        label, _, value = self.tenant_label.partition("=")
        return labels.get(label) == value


class TenantRule(MappingModel):
    """Settings of some tenants of a queue; only the first matching override applies."""

    match: TenantMatch = Field(description="The tenants that it applies to.")
    weight: Weight = Field(
        default=1.0, description="As in `default`, whose value applies if it is not given."
    )
    slots: Slots | None = Field(
        default=None,
        description="As in `default`, all of whose values apply if it is not given; null: no "
        "limit, no reserve.",
    )
    rate: Rates = Field(
        default=(),
        description="As in `default`, whose value applies if it is not given; null: no limit.",
    )
    backlog: Backlog | None = Field(
        default=None,
        description="As in `default`, whose value applies if it is not given; null: no limit.",
    )

    def over(self, default: TenantTerms) -> TenantTerms:
        """Return its tenants' settings: the fields given here, the rest from `default`."""
        given = self.model_fields_set & TenantTerms.model_fields.keys()
        return default.model_copy(update={name: getattr(self, name) for name in given})


class Tenants(MappingModel):
    """How the tenants of a queue share its slots."""

    default: TenantTerms = Field(
        default=TenantTerms(), description="Settings of every tenant that no override matches."
    )
    overrides: Annotated[tuple[TenantRule, ...], FailFast()] = Field(
        default=(),
        max_length=RULES_MAX,
        description="Settings of some tenants; only the first match applies. At most 1000.",
    )

    def terms_of(self, tenant: str, labels: Mapping[str, str]) -> TenantTerms:
        """Return the settings of a tenant with these labels."""
        for rule in self.overrides:
            if rule.match.fits(tenant, labels):
                return rule.over(self.default)
        return self.default


class QueueMatch(MappingModel):
    """The queues that an entry applies to."""

    queue: Annotated[str, value_types.name(what=_NAMES)] = Field(
        description="The queue's name or a pattern: `*` is any text, `?` any one character, "
        "and no other character is special; case matters."
    )


class QueueRule(MappingModel):
    """Settings of some queues; they apply to each matching queue separately."""

    match: QueueMatch = Field(description="The queues that it applies to.")
    weight: Weight | None = Field(
        default=1.0,
        description="The queue's share of its pool's slot-seconds, relative to the weights of "
        "the other queues that have jobs; null: none of its own, but one together with all "
        "queues without an entry, of which a tenant has one share.",
    )
    slots: Slots | None = Field(
        default=None,
        description="How many jobs of the queue, of all tenants together, may be in flight, "
        "and how many go before others; null: no limit, no reserve.",
    )
    rate: Rates = Field(
        default=(),
        description="How many jobs of the queue, of all tenants together, may be dispatched "
        "per time: one window or a list of up to 8 that must all allow a job; null: no limit.",
    )
    backlog: Backlog | None = Field(
        default=None,
        description="How many jobs of the queue, of all tenants together, may be unfinished; "
        "null: no limit.",
    )
    concurrency: Keys = Field(
        default=(),
        description="How many jobs with the same value of a key may be in flight, such as one "
        "per account: one key or a list of up to 4 that must all allow a job; null: no limit.",
    )
    band: Annotated[str, value_types.name(what="a band's name")] | None = Field(
        default=None,
        description="Band of the queue's jobs, one of `bands`; null: by the job's priority.",
    )
    tenants: Tenants = Field(
        default=Tenants(), description="How the queue's tenants share its slots."
    )

    @model_validator(mode="after")
    def _bounds_a_queue_with_a_share(self) -> "QueueRule":
        given = {"slots": self.slots, "rate": self.rate, "concurrency": self.concurrency}
        bounds = [name for name, value in given.items() if value]
        if self.weight is None and bounds:
            raise ValueError(
                f"has weight null, so it has no share of its own, and {bounds[0]}, which needs "
                "one: give it a weight, or set limits of its tenants"
            )
        return self


class Estimator(MappingModel):
    """How a job's cost is estimated until the job ends."""

    prior: Annotated[timedelta, value_types.duration("1ms", "24h")] = Field(
        default=timedelta(milliseconds=100),
        description="Estimated run time of a job before any job of its queue has ended. From "
        "then on, twice the queue's mean takes its place.",
    )
    prior_samples: Annotated[int, value_types.integer(1, 1000)] = Field(
        default=4,
        description="How many jobs that estimate counts for in a lane's mean: with a larger "
        "number, a few cheap jobs change the mean more slowly.",
    )
    window: Annotated[int, value_types.integer(1, 100_000)] = Field(
        default=200,
        description="How many ended jobs a mean covers: fewer follow a change sooner, more are "
        "steadier.",
    )


class Fairness(MappingModel):
    """Settings of the fair order, in which lanes are served."""

    inflight_share_cap: Annotated[float, value_types.number(1, 1000)] | None = Field(
        default=2.0,
        description="While other lanes wait, a lane whose jobs in flight exceed this many "
        "times its fair share of the slots gets no more; null: no such cap.",
    )
    refresh: Annotated[timedelta, value_types.duration("1ms", "60s")] = Field(
        default=timedelta(milliseconds=25),
        description="How often a running job that outlasts its estimate is charged for the "
        "excess; less often with thousands of jobs in flight.",
    )
    reserve: ShortReserve | None = Field(
        default=ShortReserve(),
        description="Slots kept free for short jobs: a tenth of them in pools with four slots "
        "or more; null: none.",
    )
    estimator: Estimator = Field(
        default=Estimator(), description="How a job's cost is estimated."
    )
    eviction: Eviction | None = Field(
        default=None,
        description="When running jobs that agreed to it are asked to stop, to run again "
        "later, so that a tenant without any can run; null: never.",
    )


class Policy(MappingModel):
    """How queues and tenants share the workers."""

    version: Annotated[int | str, value_types.version_label()] | None = Field(
        default=None,
        description="Your own number or word for this document, shown beside the digest in "
        "metrics and lists. It has no other effect.",
    )
    fairness: Fairness = Field(default=Fairness(), description="Settings of the fair order.")
    capacity: Capacity = Field(
        default=Capacity(),
        description="How far ahead of the workers jobs are dispatched, and connections kept "
        "free.",
    )
    bands: Bands = Field(
        default=(),
        description="Two to eight bands, the first one first: strict order between bands, fair "
        "order inside each. A job belongs to the band that its queue names, else to the band "
        "of its priority, else to the last. Default: one band.",
    )
    pools: Pools = Field(
        default=(),
        description="Pools of workers and the queues that each serves, 1 to 50 pools. Jobs of "
        "a queue that no pool serves are not dispatched, and `fairlead explain` and `fairlead "
        "doctor` report it. Default: the pool of the scheduler's FAIRLEAD_POOL serves all.",
    )
    labels: Mapping[
        Annotated[str, value_types.name(what="a tenant's name", bytes_lowest=0)],
        Mapping[
            Annotated[str, value_types.label_key()],
            Annotated[str, value_types.name(what="a label's value", bytes_lowest=0)],
        ],
    ] = Field(
        default_factory=dict[str, Mapping[str, str]],
        description="Labels of tenants, for `tenantLabel`: tenant, label, value.",
    )
    queues: Annotated[tuple[QueueRule, ...], FailFast()] = Field(
        default=(),
        max_length=RULES_MAX,
        description="Settings of queues; only the first match applies. A queue without a match "
        "has no limit, and a share with all others that have none. At most 1000.",
    )
    rules: Rules = Field(
        default=(),
        max_length=EXPRESSIONS_MAX,
        description="Rules, each of which applies while its condition is true. All that match "
        "apply, whatever their order. At most 100.",
    )
    shadow: Shadow | None = Field(
        default=None,
        description="A stored policy that the leader simulates without applying it; null: "
        "none. `fairlead policy shadow` shows what it would do.",
    )

    def rule_of(self, queue: str) -> QueueRule | None:
        """Return the entry of `queues` for a queue; None: it has no limit and no own share."""
        return next(
            (rule for rule in self.queues if glob(rule.match.queue).matches(queue)), None
        )

    def pool_of(self, queue: str) -> Pool | None:
        """Return the pool that serves a queue; None: no pool does, or the policy has none."""
        every = ((pool, name) for pool in self.pools for name in pool.queues)
        return next((pool for pool, name in every if glob(name).matches(queue)), None)

    def labels_of(self, tenant: str) -> Mapping[str, str]:
        """Return the labels of a tenant."""
        return self.labels.get(tenant, {})
