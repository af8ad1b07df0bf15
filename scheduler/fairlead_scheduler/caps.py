"""Which lanes have a backlog limit: that part of a policy, compiled to a table.

It is apart from the terms, because the order never asks for it.
"""

from dataclasses import dataclass, field

from fairlead.policy import Backlog, Policy, QueueRule, glob
from fairlead_scheduler.matches import FirstMatch
from fairlead_scheduler.terms import tenants_of

NO_LIMIT = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueCaps:
    """The limits of a queue, and of its tenants; `NO_LIMIT` where there is none."""

    own: int = NO_LIMIT
    default: int = NO_LIMIT
    overrides: FirstMatch[int] = field(default_factory=FirstMatch[int])
    of_tenants: bool = False
    """Whether any tenant has one."""

    def tenant(self, name: str) -> int:
        """Return a tenant's limit."""
        found = self.overrides.find(name)
        return self.default if found is None else found


_FREE = QueueCaps()


@dataclass(frozen=True, slots=True, kw_only=True)
class Caps:
    """The limits of all queues. A queue that nothing matches has none."""

    queues: FirstMatch[QueueCaps] = field(default_factory=FirstMatch[QueueCaps])
    any: bool = False
    """Whether there is a limit at all: without one nothing is counted."""

    def queue(self, name: str) -> QueueCaps:
        """Return the limits of a queue and its tenants."""
        return self.queues.find(name) or _FREE

    def limit(self, queue: str, tenant: str | None) -> int:
        """Return the limit of a tenant in a queue, or with None of the queue itself."""
        caps = self.queue(queue)
        return caps.own if tenant is None else caps.tenant(tenant)


def capped(policy: Policy) -> Caps:
    """Return a policy's limits."""
    rules = [(glob(rule.match.queue), _of_queue(rule, policy)) for rule in policy.queues]
    return Caps(
        queues=FirstMatch(rules), any=any(caps.own or caps.of_tenants for _, caps in rules)
    )


def _of_queue(rule: QueueRule, policy: Policy) -> QueueCaps:
    default = rule.tenants.default
    overrides = [
        (tenants_of(each.match, policy), _limit(each.over(default).backlog))
        for each in rule.tenants.overrides
    ]
    own, others = _limit(rule.backlog), _limit(default.backlog)
    return QueueCaps(
        own=own,
        default=others,
        overrides=FirstMatch(overrides),
        of_tenants=bool(others) or any(limit for _, limit in overrides),
    )


def _limit(backlog: Backlog | None) -> int:
    return NO_LIMIT if backlog is None else backlog.limit
