"""What in a policy is in force and means nobody: warnings, where a refusal would be too much.

A label may be declared tomorrow, and who rolls back wants the old document as it was. So these
are said, and the policy is accepted. Names of queues and tenants are not among them: those that
have no job now may have one in a moment.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TypeAlias

from fairlead.policy.document import Path
from fairlead.policy.fleets import of_fleets
from fairlead.policy.globs import Glob, glob
from fairlead.policy.kinds import shown
from fairlead.policy.models import Policy, TenantMatch, TenantRule
from fairlead.policy.refusal import field
from fairlead.policy.rules import RuleMatch

_MOST = 20
"""Sentences that somebody reads."""
_PAIRS_MAX = 1_000_000
"""Entries times what they are compared with: where there are more nothing is sought."""
Match: TypeAlias = TenantMatch | RuleMatch


def doubts(policy: Policy) -> tuple[str, ...]:
    """Return what in a policy means nobody, a sentence each; at most a few of them."""
    found = (
        *_of_bands(policy),
        *_of_pools(policy),
        *of_fleets(policy.pools),
        *_of_queues(policy),
        *_of_rules(policy),
    )
    if len(found) > _MOST:
        return (*found[:_MOST], f"there are {len(found) - _MOST} more like these")
    return found


def _of_bands(policy: Policy) -> Iterator[str]:
    """Find bands that no job can belong to. What no band has belongs to the last."""
    named = {rule.band for rule in policy.queues}
    for place, band in enumerate(policy.bands[:-1]):
        if band.priorities is None and band.name not in named:
            where = field(("bands", place))
            yield (
                f"{where}: no queue names band {shown(band.name)} and it has no priorities: "
                "only jobs that waited too long in the band below get into it"
            )


def _of_pools(policy: Policy) -> Iterator[str]:
    """Find names of queues that no pool serves. Of patterns nobody knows what they match."""
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
            yield f"{where}: no pool serves {shown(queue)}: its jobs wait until one names it"


def _of_queues(policy: Policy) -> Iterator[str]:
    """Find names of queues that earlier patterns match, and what is wrong in overrides."""
    patterns: list[tuple[int, Glob]] = []
    for place, rule in enumerate(policy.queues):
        name = rule.match.queue
        if glob(name).head != name:
            patterns.append((place, glob(name)))
        elif (first := _taker(name, {}, patterns)) is not None:
            where = field(("queues", place, "match", "queue"))
            yield _hidden(where, shown(name), field(("queues", first)))
        path: Path = ("queues", place, "tenants", "overrides")
        yield from _of_overrides(rule.tenants.overrides, path, policy)


def _of_overrides(overrides: Sequence[TenantRule], path: Path, policy: Policy) -> Iterator[str]:
    """Find overrides for labels that nobody has, and those whose tenants all have another."""
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
            yield _nobody(f"{where}.tenantLabel", label, name)
        hiding = [_taker(tenant, taken, patterns) for tenant in tenants]
        first = min((each for each in hiding if each is not None), default=None)
        if first is not None and None not in hiding:
            who = shown(tenants[0]) if len(tenants) == 1 else f"each of {len(tenants)} tenants"
            yield _hidden(where, who, field((*path, first)))
        for tenant in tenants:
            taken.setdefault(tenant, place)


def _taker(
    tenant: str, taken: Mapping[str, int], patterns: Iterable[tuple[int, Glob]]
) -> int | None:
    """Return the place of the first override that is for a tenant."""
    named = taken.get(tenant)
    wild = next((place for place, pattern in patterns if pattern.matches(tenant)), None)
    return min((each for each in (named, wild) if each is not None), default=None)


def _fitting(match: Match, policy: Policy) -> list[str]:
    """Return the tenants under `labels` that are meant."""
    return [tenant for tenant, labels in policy.labels.items() if match.fits(tenant, labels)]


def _of_rules(policy: Policy) -> Iterator[str]:
    """Find rules for labels that nobody has."""
    for place, rule in enumerate(policy.rules):
        match = rule.match
        if match is not None and match.label is not None and not _fitting(match, policy):
            where = field(("rules", place, "match", "label"))
            yield _nobody(where, match.label, match.tenant)


def _nobody(where: str, label: str, tenant: str | None) -> str:
    named = "" if tenant is None else f" whose name fits {shown(tenant)}"
    return (
        f"{where}: no tenant under labels{named} has {shown(label)}: it is for nobody until "
        "one has"
    )


def _hidden(where: str, who: str, first: str) -> str:
    return (
        f"{where}: {who} is matched by {first} already, and the first match counts: it is for "
        "nobody, so put it first, or leave it out"
    )
