"""Limits of the policy that match no queue or tenant, or that none came near. Pure.

The evidence is what ended last and what runs: a limit not reached in that time may still guard
against the next flood, so the doctor says what it saw and does not call it wrong.
"""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from fairlead.inspection.doctor.facts import Facts, Run, Worker
from fairlead.inspection.doctor.finding import Finding, Step, shell
from fairlead.policy import Policy, QueueRule, Rate, Slots, TenantRule, TenantTerms
from fairlead.policy.value_types import format_duration

ENDINGS_LEAST = 100
"""With fewer jobs to go by nothing is said."""
NEAR = 0.5
"""A lane that reached this part of a limit came near it."""
_NAMED_MAX = 5
_LIMITS = ("slots", "rate", "backlog")
_MEANS = (
    "It blocks no job. It may be a guard against the next flood; if it was meant for a tenant "
    "or queue that has jobs, check its spelling and the rules before it."
)

Lane = tuple[str, str]
Terms = QueueRule | TenantTerms | TenantRule


@dataclass(frozen=True, slots=True)
class Seen:
    """Which lanes were seen, and when each had slots."""

    lanes: frozenset[Lane]
    runs: Mapping[Lane, Sequence[Run]]
    slots: Mapping[str, int]
    """Of the live workers of each pool."""
    span: timedelta
    """From the first start that was seen to the last."""


@dataclass(frozen=True, slots=True)
class _Group:
    """One part of the policy that may have limits, and the lanes that it counts together."""

    path: str
    terms: Terms
    together: tuple[tuple[Lane, ...], ...]
    """A queue's limit counts all of its lanes as one, a tenant's each lane alone."""


def unused(facts: Facts) -> Iterator[Finding]:
    """Find limits that match no queue or tenant, and those that none came near."""
    if facts.policy is None or not enough(facts):
        return
    seen = _seen(facts)
    groups = tuple(_groups(facts.policy, seen.lanes))
    unmatched = [each.path for each in groups if _limits(each.terms) and not each.together]
    if unmatched:
        yield _finding(facts, "that match no queue or tenant", unmatched)
    far = [said for each in groups for said in _far(each, facts.policy, seen)]
    if far:
        yield _finding(facts, "that no queue or tenant came near", far)


def enough(facts: Facts) -> bool:
    """Tell whether there is enough to go by."""
    return _endings(facts) >= ENDINGS_LEAST


def most_at_once(runs: Iterable[Run]) -> int:
    """Return how many jobs had slots at once at most."""
    changes: list[tuple[datetime, int]] = []
    for run in runs:
        if run.claimed_at is not None:
            changes.append((run.claimed_at, 1))
            if run.finished_at is not None:
                changes.append((run.finished_at, -1))
    most = now = 0
    for _, change in sorted(changes):
        now += change
        most = max(most, now)
    return most


def most_within(runs: Iterable[Run], per: timedelta) -> int:
    """Return how many jobs started at most in any stretch of a time."""
    starts = sorted(run.claimed_at for run in runs if run.claimed_at is not None)
    most = first = 0
    for last, at in enumerate(starts):
        while starts[first] <= at - per:
            first += 1
        most = max(most, last - first + 1)
    return most


def _endings(facts: Facts) -> int:
    return sum(run.finished_at is not None for run in facts.runs or ())


def _seen(facts: Facts) -> Seen:
    runs: dict[Lane, list[Run]] = {}
    for run in facts.runs or ():
        runs.setdefault((run.queue, run.tenant), []).append(run)
    starts = [run.claimed_at for run in facts.runs or () if run.claimed_at is not None]
    span = max(starts) - min(starts) if starts else timedelta()
    lanes = frozenset({*runs, *(facts.lanes or ())})
    return Seen(lanes, runs, _slots(facts.workers or ()), span)


def _slots(workers: Iterable[Worker]) -> Mapping[str, int]:
    slots: dict[str, int] = {}
    for worker in workers:
        if worker.lapsed <= timedelta():
            slots[worker.pool] = slots.get(worker.pool, 0) + worker.slots
    return slots


def _groups(policy: Policy, lanes: Iterable[Lane]) -> Iterator[_Group]:
    """Yield each part that may have limits, with the lanes for which it counts."""
    of_rule: dict[int, list[Lane]] = {}
    places = {id(rule): place for place, rule in enumerate(policy.queues)}
    for lane in sorted(lanes):
        rule = policy.rule_of(lane[0])
        if rule is not None:
            of_rule.setdefault(places[id(rule)], []).append(lane)
    for place, rule in enumerate(policy.queues):
        path, mine = f"queues[{place}]", of_rule.get(place, [])
        queues = {queue for queue, _ in mine}
        whole = tuple(
            tuple(each for each in mine if each[0] == queue) for queue in sorted(queues)
        )
        yield _Group(path, rule, whole)
        yield from _tenants(path, rule, mine, policy)


def _tenants(
    path: str, rule: QueueRule, lanes: Sequence[Lane], policy: Policy
) -> Iterator[_Group]:
    of_override: dict[int | None, list[Lane]] = {}
    for lane in lanes:
        labels = policy.labels_of(lane[1])
        first = next(
            (
                place
                for place, each in enumerate(rule.tenants.overrides)
                if each.match.fits(lane[1], labels)
            ),
            None,
        )
        of_override.setdefault(first, []).append(lane)
    for place, each in enumerate(rule.tenants.overrides):
        mine = tuple((lane,) for lane in of_override.get(place, ()))
        yield _Group(f"{path}.tenants.overrides[{place}]", each, mine)
    rest = of_override.get(None, [])
    for place, each in enumerate(rule.tenants.overrides):
        if each.model_fields_set.isdisjoint(_LIMITS):  # it has those of the default
            rest = [*rest, *of_override.get(place, ())]
    # Tenants that all have overrides leave the default to those that may come.
    if rest or not lanes:
        whole = tuple((lane,) for lane in rest)
        yield _Group(f"{path}.tenants.default", rule.tenants.default, whole)


def _limits(terms: Terms) -> bool:
    """Tell whether a part has a limit of its own."""
    limited = terms.slots is not None and terms.slots.limit is not None
    return limited or bool(terms.rate) or terms.backlog is not None


def _far(group: _Group, policy: Policy, seen: Seen) -> Iterator[str]:
    """Yield the limits of a part that no lane came near, each with how near the nearest was."""
    if not group.together:
        return
    runs = [
        [run for lane in lanes for run in seen.runs.get(lane, ())] for lanes in group.together
    ]
    slots = group.terms.slots
    if slots is not None and slots.limit is not None:
        peaks = [most_at_once(each) for each in runs]
        bounds = [_bound(slots, lanes[0][0], policy, seen) for lanes in group.together]
        pairs = [(peak, most) for peak, most in zip(peaks, bounds, strict=True) if most]
        if pairs and all(peak < NEAR * most for peak, most in pairs):
            yield f"{group.path}.slots.limit {slots.limit} (at most {max(peaks)} at once)"
    for place, rate in enumerate(group.terms.rate):
        if rate.per <= seen.span:
            most = max(most_within(each, rate.per) for each in runs)
            if most < NEAR * rate.limit:
                yield (
                    f"{group.path}.rate{_place(group.terms.rate, place)} of {rate.limit} per "
                    f"{format_duration(rate.per)} (at most {most})"
                )


def _place(rates: Sequence[Rate], place: int) -> str:
    return f"[{place}]" if len(rates) > 1 else ""


def _bound(slots: Slots, queue: str, policy: Policy, seen: Seen) -> int:
    """Return a limit as a number of jobs; 0 where that is not known."""
    if slots.count is not None:
        return slots.count
    pool = policy.pool_of(queue)
    own = sum(seen.slots.values()) if pool is None else seen.slots.get(pool.name, 0)
    return math.ceil(own * (slots.percent or 0.0) / 100)


def _finding(facts: Facts, which: str, paths: Sequence[str]) -> Finding:
    ended = [run.finished_at for run in facts.runs or () if run.finished_at is not None]
    shown = "; ".join(paths[:_NAMED_MAX])
    more = f"; and {len(paths) - _NAMED_MAX} more" if len(paths) > _NAMED_MAX else ""
    first = paths[0].partition(" ")[0].removesuffix(".limit")
    return Finding(
        harm="wastes",
        subject="limit",
        what=f"Limits {which} among the last {len(ended):,} jobs that ended, since "
        f"{min(ended):%Y-%m-%d %H:%M} UTC: {shown}{more}.",
        means=_MEANS,
        fix=(
            Step("policy", f"take out or correct `{first}`"),
            shell("fairlead policy apply policy.yaml"),
        ),
    )
