"""The rules of a policy, compiled: which lanes and jobs each applies to, and what it changes.

A set of rules is a whole number with a bit for each, so that a lane stores its rules in one
number. They are found once, when the lane or queue is made or a policy comes into force.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Protocol, Self, TypeAlias, TypeVar, cast

from fairlead.policy import Glob, Policy, Rule, glob, name_of
from fairlead.policy.cel.compiler import Scope

Labels: TypeAlias = Mapping[str, Mapping[str, str]]
"""The labels of each tenant that has some."""


@dataclass(frozen=True, slots=True)
class Condition:
    """The condition of a rule, under the rule's bit and name."""

    bit: int
    name: str
    rule: Rule

    def holds(self, values: Scope) -> bool:
        """Whether the condition is true for these values of all variables.

        Raises:
            EvaluationError: The condition has no value.
        """
        return self.rule.expression.run(values) is True


@dataclass(frozen=True, slots=True)
class Effects:
    """The combined effect of some rules."""

    blocking_rule: str | None = None
    """The name of the rule that holds, the first of several."""
    factor: float = 1.0
    """The factor of the weight."""
    limit: int | None = None
    limit_per_10_000: int | None = None

    def combine(self, other: "Effects") -> "Effects":
        """Combine two effects: factors are multiplied, and the smallest limits count."""
        return Effects(
            self.blocking_rule or other.blocking_rule,
            self.factor * other.factor,
            smaller_limit(self.limit, other.limit),
            smaller_limit(self.limit_per_10_000, other.limit_per_10_000),
        )


_NO_EFFECTS = Effects()
_CHANGED_MAX = 10_000
_KINDS_MAX = 1000
"""Kinds whose rules are cached: applications may make up any number of kinds."""


class QueueRules:
    """The rules for one queue and its tenants."""

    __slots__ = ("_everyone", "_named", "_patterns", "jobs", "own")

    def __init__(self, rules: Iterable[tuple[int, Rule]], labels: Labels) -> None:
        self.own = 0
        """The rules for the queue as a whole."""
        self.jobs = 0
        """The rules for single jobs of some of its tenants."""
        self._everyone = 0
        self._named: dict[str, int] = {}
        self._patterns: list[tuple[int, str, Glob]] = []
        for bit, rule in rules:
            match = rule.match
            if rule.of_jobs:
                self.jobs |= bit
            if rule.for_queues:
                self.own |= bit
            elif match is None or (match.tenant is None and match.label is None):
                self._everyone |= bit
            elif match.label is not None:
                for tenant, its in labels.items():
                    if match.fits(tenant, its):
                        self._named[tenant] = self._named.get(tenant, 0) | bit
            elif match.tenant is not None:
                self._add(bit, glob(match.tenant))

    def for_tenant(self, tenant: str) -> int:
        """Return the rules for this tenant."""
        found = self._everyone | self._named.get(tenant, 0)
        for bit, head, pattern in self._patterns:
            if tenant.startswith(head) and pattern.matches(tenant):
                found |= bit
        return found

    def _add(self, bit: int, pattern: Glob) -> None:
        if pattern.head == pattern.pattern:
            self._named[pattern.pattern] = self._named.get(pattern.pattern, 0) | bit
        else:
            self._patterns.append((bit, pattern.head, pattern))


class OwnTerms(Protocol):
    """The terms of a lane or queue before rules apply."""

    def under(self, effects: Effects) -> Self:
        """Return these terms as changed by rules."""
        raise NotImplementedError


OwnT = TypeVar("OwnT", bound=OwnTerms)
NO_QUEUE_RULES: Final = QueueRules((), {})


class RuleSet:
    """All rules of one policy. Only its caches change.

    Args:
        policy: The policy.
        disabled: The names of disabled rules, which never apply.
    """

    __slots__ = (
        "_changed",
        "_effects",
        "_kinds",
        "_names",
        "_of_kinds",
        "_rules",
        "asking",
        "by_job",
        "by_lane",
        "disabled",
        "evaluated_per_job",
        "everywhere",
        "labels",
        "of_tenants",
    )

    def __init__(self, policy: Policy, disabled: Sequence[str] = ()) -> None:
        self.labels: Final = policy.labels
        self.disabled: Final = frozenset(disabled)
        conditions = [
            Condition(1 << place, name_of(rule, place), rule)
            for place, rule in enumerate(policy.rules)
            if name_of(rule, place) not in disabled
        ]
        self._rules = [(each.bit, each.rule) for each in conditions]
        self._effects = [
            (x.bit, _effects(x.name, x.rule)) for x in conditions if not x.rule.of_jobs
        ]
        self._names = {each.bit: each.name for each in conditions}
        self._of_kinds = [(each.bit, _kinds(each.rule)) for each in conditions]
        self._kinds: dict[str, int] = {}
        self._changed: dict[tuple[int, int], tuple[OwnTerms, OwnTerms]] = {}
        """Terms before and after rules, by the former's identity and the set of rules."""
        self.by_job: Final = tuple(x for x in conditions if x.rule.reads_job)
        """The conditions that read jobs, and may read lanes as well."""
        self.evaluated_per_job: Final = sum(each.bit for each in self.by_job)
        of_lanes = [each for each in conditions if not each.rule.reads_job]
        self.everywhere: Final = tuple(x for x in of_lanes if not x.rule.reads_lane)
        """The conditions that read neither lanes nor jobs."""
        self.by_lane: Final = tuple(x for x in of_lanes if x.rule.reads_lane)
        """The conditions that read lanes, but no jobs."""
        self.asking: Final = sum(each.bit for each in self.by_lane)
        self.of_tenants: Final = sum(x.bit for x in conditions if not x.rule.for_queues)
        """The rules that are for each tenant of a queue."""

    def __bool__(self) -> bool:
        """Whether there is a rule."""
        return bool(self._rules)

    def of(self, queue: str) -> QueueRules:
        """Return the rules for this queue and its tenants."""
        matching = [(bit, rule) for bit, rule in self._rules if _is_for(rule, queue)]
        return QueueRules(matching, self.labels)

    def change(self, own: OwnT, rules: int) -> OwnT:
        """Return terms as changed by these rules; equal calls return the same object."""
        known = self._changed.get((id(own), rules))
        if known is not None:
            return cast("OwnT", known[1])
        if len(self._changed) >= _CHANGED_MAX:
            self._changed.clear()
        changed = own.under(self.effects(rules))
        self._changed[id(own), rules] = own, changed  # kept, so that nothing else has its id
        return changed

    def effects(self, rules: int) -> Effects:
        """Return the combined effect of these rules on lanes and queues."""
        found = _NO_EFFECTS
        for bit, effects in self._effects:
            if bit & rules:
                found = found.combine(effects)
        return found

    def for_kind(self, kind: str) -> int:
        """Return the rules that may be for jobs of this kind."""
        found = self._kinds.get(kind)
        if found is None:
            if len(self._kinds) >= _KINDS_MAX:
                self._kinds.clear()
            matching = (bit for bit, kinds in self._of_kinds if kinds.matches(kind))
            found = self._kinds[kind] = sum(matching)
        return found

    def name(self, rules: int) -> str:
        """Return the name of the first of these rules."""
        return self._names[rules & -rules]


def _kinds(rule: Rule) -> Glob:
    match = rule.match
    return glob("*" if match is None or match.kind is None else match.kind)


def _is_for(rule: Rule, queue: str) -> bool:
    match = rule.match
    return match is None or match.queue is None or glob(match.queue).matches(queue)


def _effects(name: str, rule: Rule) -> Effects:
    percent = None if rule.slots is None else rule.slots.percent
    return Effects(
        blocking_rule=name if rule.hold else None,
        factor=1.0 if rule.weight_factor is None else rule.weight_factor,
        limit=None if rule.slots is None else rule.slots.count,
        limit_per_10_000=None if percent is None else round(percent * 100),
    )


def smaller_limit(one: int | None, other: int | None) -> int | None:
    """Return the smaller of two limits, either of which may be missing."""
    if one is None or other is None:
        return other if one is None else one
    return min(one, other)
