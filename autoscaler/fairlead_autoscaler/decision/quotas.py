"""How many pods the namespace's quotas have room for, by what a pod of each pool asks for.

A quota counts pods, or the CPU, memory and devices that pods request or are limited to, of all
pods or of those that its scopes name. What a pod counts follows Kubernetes: the sum over its
containers, or an init container's if that is more, with what a LimitRange fills in. A pod that
does not say what a quota of CPU or memory counts is refused; then the pool has no room at all.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from fairlead_autoscaler.decision.inputs import (
    ContainerDefaults,
    PodTemplate,
    QuotaLimit,
    Resources,
    Scope,
)

_PODS = {"pods", "count/pods"}
_MUST_SAY = {"cpu", "memory"}
"""A container that does not say these is refused where a quota counts them."""
_ONE = 1000
"""Amounts are in thousandths."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Room:
    """The pods that quotas allow to a pool."""

    pods: int
    """The most, with those that terminate."""
    limit: str
    """What the tightest quota counts, and its name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class QuotaShare:
    """One limit of a quota, and what pools use of it."""

    limit: QuotaLimit
    total: int
    """For all pools together: what was left, and what they used then."""
    cost: Mapping[str, int | None]
    """Of one pod of each pool that it counts; None: its pods do not say, and are refused."""
    pods: Mapping[str, int]
    """Pods that each pool has or may come to have."""

    def of(self, pool: str) -> Room | None:
        """Return the room of a pool: what no other uses or may come to use; None: no limit."""
        if pool not in self.cost:
            return None
        named = f"the ResourceQuota {self.limit.quota}"
        cost = self.cost[pool]
        if cost is None:
            wanted = f"{named} wants {self.limit.resource} of every container"
            return Room(pods=0, limit=wanted)
        others = sum(
            (self.cost.get(each) or 0) * count
            for each, count in self.pods.items()
            if each != pool
        )
        return Room(
            pods=max(0, self.total - others) // cost,
            limit=f"{self.limit.resource}, {self.limit.hard} in {named}",
        )

    def after(self, pool: str, pods: int) -> "QuotaShare":
        """Return what is left after a decision that lets a pool have so many pods."""
        most = max(pods, self.pods.get(pool, 0))
        return QuotaShare(
            limit=self.limit,
            total=self.total,
            cost=self.cost,
            pods={**self.pods, pool: most},
        )


def shares(
    limits: Iterable[QuotaLimit],
    templates: Mapping[str, PodTemplate],
    defaults: ContainerDefaults,
    *,
    then: Mapping[str, int],
    now: Mapping[str, int],
) -> tuple[QuotaShare, ...]:
    """Return what pools share of each limit that counts pods of theirs.

    Args:
        limits: The limits as they were read.
        templates: Each pool's.
        defaults: What LimitRanges fill in.
        then: Each pool's pods when the limits were read.
        now: Its pods now, and those that are asked for.
    """
    found: list[QuotaShare] = []
    for limit in limits:
        costs = {
            pool: cost
            for pool, template in templates.items()
            if (cost := pod_cost(limit, template, defaults)) != 0
        }
        if costs:
            used = sum((cost or 0) * then.get(pool, 0) for pool, cost in costs.items())
            total = limit.left + used
            found.append(QuotaShare(limit=limit, total=total, cost=costs, pods=now))
    return tuple(found)


def room(shares_left: Iterable[QuotaShare], pool: str) -> Room | None:
    """Return the room of the tightest limit; None: none counts the pool's pods."""
    found = (each.of(pool) for each in shares_left)
    return min(
        (each for each in found if each is not None), key=lambda each: each.pods, default=None
    )


def pod_cost(
    limit: QuotaLimit, template: PodTemplate, defaults: ContainerDefaults
) -> int | None:
    """Return what one pod counts; 0: it is not counted; None: it does not say, and must."""
    template = filled(template, defaults)
    if not all(_matches(scope, template) for scope in limit.scopes):
        return 0
    if limit.resource in _PODS:
        return _ONE
    kind, _, name = limit.resource.rpartition(".")
    if limit.resource.startswith("requests."):
        kind, name = "requests", limit.resource.removeprefix("requests.")
    if kind not in {"", "requests", "limits"}:
        return 0
    is_limit = kind == "limits"
    if name in _MUST_SAY and not _is_said(template, name, is_limit=is_limit):
        return None
    return _whole(template, name, is_limit=is_limit)


def filled(template: PodTemplate, defaults: ContainerDefaults) -> PodTemplate:
    """Return a template with what the API server and LimitRanges fill in."""
    return PodTemplate(
        containers=tuple(_filled(each, defaults) for each in template.containers),
        inits=tuple(_filled(each, defaults) for each in template.inits),
        whole=template.whole,
        overhead=template.overhead,
        priority_class=template.priority_class,
        has_deadline=template.has_deadline,
    )


def _filled(given: Resources, defaults: ContainerDefaults) -> Resources:
    requests = {**defaults.requests, **given.limits, **given.requests}
    limits = {**defaults.limits, **given.limits}
    return Resources(requests=requests, limits=limits, restarts=given.restarts)


def _is_said(template: PodTemplate, name: str, *, is_limit: bool) -> bool:
    if name in _of(template.whole, is_limit=is_limit):
        return True
    everyone = (*template.containers, *template.inits)
    return bool(everyone) and all(name in _of(each, is_limit=is_limit) for each in everyone)


def _whole(template: PodTemplate, name: str, *, is_limit: bool) -> int:
    """Return a pod's amount: an init container runs beside the sidecars begun before it."""
    said = _of(template.whole, is_limit=is_limit).get(name)
    if said is not None:
        return said + template.overhead.get(name, 0)
    sidecars = peak = 0
    for each in template.inits:
        amount = _of(each, is_limit=is_limit).get(name, 0)
        if each.restarts:
            sidecars += amount
        peak = max(peak, sidecars if each.restarts else sidecars + amount)
    total = sidecars + sum(
        _of(each, is_limit=is_limit).get(name, 0) for each in template.containers
    )
    return max(total, peak) + template.overhead.get(name, 0)


def _of(resources: Resources, *, is_limit: bool) -> Mapping[str, int]:
    return resources.limits if is_limit else resources.requests


def _matches(scope: Scope, template: PodTemplate) -> bool:
    """Return whether a quota's scope takes a pool's pods; one that is unknown takes none."""
    best_effort = not any(
        name in amounts
        for each in (template.whole, *template.containers, *template.inits)
        for amounts in (each.requests, each.limits)
        for name in _MUST_SAY
    )
    taken = {
        "Terminating": template.has_deadline,
        "NotTerminating": not template.has_deadline,
        "BestEffort": best_effort,
        "NotBestEffort": not best_effort,
        "PriorityClass": _takes_class(scope, template.priority_class),
    }
    return taken.get(scope.name, False)


def _takes_class(scope: Scope, name: str) -> bool:
    takes = {
        "In": name in scope.values,
        "NotIn": name not in scope.values,
        "Exists": bool(name),
        "DoesNotExist": not name,
    }
    return takes.get(scope.operator, False)
