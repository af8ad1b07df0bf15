"""Parts of a valid policy without effect, or to be careful with: a refusal would be too strict.

A label may be given to a tenant tomorrow, and an operator who rolls back needs the old document
as it was. So the policy is accepted with warnings. Which names of queues and tenants are in use
is for a database to say: see `unknown_names`. A pattern for every queue gives each name a
share, and names are what applications choose.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TypeAlias

from fairlead.policy.autoscale import Autoscale
from fairlead.policy.document import Path
from fairlead.policy.globs import Glob, glob
from fairlead.policy.models import Policy, TenantMatch, TenantRule
from fairlead.policy.pools import Pool
from fairlead.policy.refusal import field
from fairlead.policy.rules import RuleMatch
from fairlead.policy.value_types import display

_WARNINGS_MAX = 20
"""At most so many warnings are shown."""
_PAIRS_MAX = 1_000_000
"""Above so many comparisons of entries, the check is skipped."""
Match: TypeAlias = TenantMatch | RuleMatch


def find_warnings(policy: Policy) -> tuple[str, ...]:
    """Return a sentence for each part without effect or with a risk, the first twenty."""
    found = (
        *_of_shares(policy),
        *_of_bands(policy),
        *_of_pools(policy),
        *_of_autoscaling(policy.pools),
        *_of_queues(policy),
        *_of_rules(policy),
    )
    if len(found) > _WARNINGS_MAX:
        return (
            *found[:_WARNINGS_MAX],
            f"there are {len(found) - _WARNINGS_MAX} more like these",
        )
    return found


def _of_bands(policy: Policy) -> Iterator[str]:
    """Find bands that no job can belong to; jobs without a band belong to the last one."""
    named = {rule.band for rule in policy.queues}
    for place, band in enumerate(policy.bands[:-1]):
        if band.priorities is None and band.name not in named:
            where = field(("bands", place))
            yield (
                f"{where}: no queue names band {display(band.name)} and it has no priorities: "
                "only jobs that waited too long in the band below get into it"
            )


def _of_shares(policy: Policy) -> Iterator[str]:
    """Find weights that every queue has whose name an application makes up."""
    for place, rule in enumerate(policy.queues):
        if rule.weight is not None and not glob(rule.match.queue).head:
            where = field(("queues", place, "weight"))
            yield (
                f"{where}: each queue that {display(rule.match.queue)} matches has a share of "
                "its own, so a tenant that makes up names of queues has as many shares: use "
                "null, which gives them one together, or name the queues"
            )


def _of_pools(policy: Policy) -> Iterator[str]:
    """Find names of queues that no pool serves; patterns may match any queue."""
    of_rules = [rule.match and rule.match.queue for rule in policy.rules]
    queues = [(("queues", place), rule.match.queue) for place, rule in enumerate(policy.queues)]
    named: list[tuple[Path, str]] = [
        *queues,
        *((("rules", place), queue) for place, queue in enumerate(of_rules) if queue),
    ]
    served = sum(len(pool.queues) for pool in policy.pools)
    if not served or len(named) * served > _PAIRS_MAX:
        return
    for path, queue in named:
        if glob(queue).head == queue and policy.pool_of(queue) is None:
            where = field((*path, "match", "queue"))
            yield f"{where}: no pool serves {display(queue)}: its jobs wait until one names it"


def _of_autoscaling(pools: tuple[Pool, ...]) -> Iterator[str]:
    """Find settings of autoscaling that others make ineffective."""
    for place, pool in enumerate(pools):
        if pool.autoscale is not None:
            path: Path = ("pools", place, "autoscale")
            yield from _of_pod_bounds(pool.autoscale, path)
            yield from _of_scale_to_zero(pool.autoscale, path)


def _of_pod_bounds(given: Autoscale, path: Path) -> Iterator[str]:
    """Find numbers of pods above the most that the pool may have."""
    most = f"{field((*path, 'max'))} {given.max} takes precedence"
    if given.fallback is not None and given.fallback.replicas > given.max:
        where = field((*path, "fallback", "replicas"))
        yield f"{where}: {most}: {given.fallback.replicas} pods are never reached"
    for place, schedule in enumerate(given.schedules):
        if schedule.min is not None and schedule.min > given.max:
            where = field((*path, "schedules", place, "min"))
            yield f"{where}: {most}: {schedule.min} pods are never reached"
    if given.cost is not None and given.cost.hour_max < given.min * given.cost.pod_hour:
        where = field((*path, "cost", "hourMax"))
        yield f"{where}: it pays for fewer pods than {field((*path, 'min'))} {given.min}"


def _of_scale_to_zero(given: Autoscale, path: Path) -> Iterator[str]:
    """Find settings that prevent scaling to zero, or that only matter with it."""
    if given.min == 0 and given.warm_slots > 0:
        where, floor = field((*path, "warmSlots")), field((*path, "min"))
        yield f"{where}: {given.warm_slots} keep the pool from zero, which {floor} 0 allows"
    if given.min > 0 and "keep" in given.model_fields_set:
        where, floor = field((*path, "keep")), field((*path, "min"))
        yield f"{where}: has no effect: {floor} {given.min} keeps the pool from zero"


def _of_queues(policy: Policy) -> Iterator[str]:
    """Find names of queues that earlier patterns match, and overrides without effect."""
    patterns: list[tuple[int, Glob]] = []
    for place, rule in enumerate(policy.queues):
        name = rule.match.queue
        if glob(name).head != name:
            patterns.append((place, glob(name)))
        elif (first := _first_match(name, {}, patterns)) is not None:
            where = field(("queues", place, "match", "queue"))
            yield _hidden(where, display(name), field(("queues", first)))
        path: Path = ("queues", place, "tenants", "overrides")
        yield from _of_overrides(rule.tenants.overrides, path, policy)


def _of_overrides(overrides: Sequence[TenantRule], path: Path, policy: Policy) -> Iterator[str]:
    """Find overrides for labels that no tenant has, and those that earlier overrides hide."""
    if len(overrides) * (len(policy.labels) + len(overrides)) > _PAIRS_MAX:
        return
    taken: dict[str, int] = {}
    patterns: list[tuple[int, Glob]] = []
    for place, rule in enumerate(overrides):
        where = field((*path, place, "match"))
        label, name = rule.match.tenant_label, rule.match.tenant
        if label is None and name is not None and glob(name).head != name:
            patterns.append((place, glob(name)))
            continue
        tenants = [name] if label is None and name is not None else _fitting(rule.match, policy)
        if not tenants and label is not None:
            yield _no_tenant(f"{where}.tenantLabel", label, name)
        hiding = [_first_match(tenant, taken, patterns) for tenant in tenants]
        first = min((each for each in hiding if each is not None), default=None)
        if first is not None and None not in hiding:
            who = (
                display(tenants[0]) if len(tenants) == 1 else f"each of {len(tenants)} tenants"
            )
            yield _hidden(where, who, field((*path, first)))
        for tenant in tenants:
            taken.setdefault(tenant, place)


def _first_match(
    tenant: str, taken: Mapping[str, int], patterns: Iterable[tuple[int, Glob]]
) -> int | None:
    """Return the place of the first override that matches a tenant."""
    named = taken.get(tenant)
    wild = next((place for place, pattern in patterns if pattern.matches(tenant)), None)
    return min((each for each in (named, wild) if each is not None), default=None)


def _fitting(match: Match, policy: Policy) -> list[str]:
    """Return the matching tenants under `labels`."""
    return [tenant for tenant, labels in policy.labels.items() if match.fits(tenant, labels)]


def _of_rules(policy: Policy) -> Iterator[str]:
    """Find rules for labels that no tenant has."""
    for place, rule in enumerate(policy.rules):
        match = rule.match
        if match is not None and match.label is not None and not _fitting(match, policy):
            where = field(("rules", place, "match", "label"))
            yield _no_tenant(where, match.label, match.tenant)


def _no_tenant(where: str, label: str, tenant: str | None) -> str:
    named = "" if tenant is None else f" whose name fits {display(tenant)}"
    return (
        f"{where}: no tenant under labels{named} has {display(label)}: it has no effect "
        "until one has"
    )


def _hidden(where: str, who: str, first: str) -> str:
    return (
        f"{where}: {who} is matched by {first} already, and the first match counts: it has "
        "no effect, so put it first, or leave it out"
    )
