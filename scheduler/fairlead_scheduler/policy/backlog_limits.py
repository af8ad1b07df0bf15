"""The backlog limits of lanes and queues: that part of a policy, compiled to a table.

It is separate from the terms, because the fair order never reads it.
"""

from dataclasses import dataclass, field

from fairlead.policy import Backlog, Policy, QueueRule, glob
from fairlead_scheduler.policy.compiled import tenants_of
from fairlead_scheduler.policy.first_match import FirstMatch

NO_LIMIT = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueBacklogLimits:
    """The limits of a queue and of its tenants; `NO_LIMIT` where there is none."""

    own: int = NO_LIMIT
    default: int = NO_LIMIT
    overrides: FirstMatch[int] = field(default_factory=FirstMatch[int])
    of_tenants: bool = False
    """Whether any tenant has a limit."""

    def tenant(self, name: str) -> int:
        """Return a tenant's limit."""
        found = self.overrides.find(name)
        return self.default if found is None else found


_FREE = QueueBacklogLimits()


@dataclass(frozen=True, slots=True, kw_only=True)
class BacklogLimits:
    """The limits of all queues. A queue that no rule matches has none."""

    queues: FirstMatch[QueueBacklogLimits] = field(
        default_factory=FirstMatch[QueueBacklogLimits]
    )
    any: bool = False
    """Whether there is any limit: without one nothing is counted."""

    def queue(self, name: str) -> QueueBacklogLimits:
        """Return the limits of a queue and its tenants."""
        return self.queues.find(name) or _FREE

    def limit(self, queue: str, tenant: str | None) -> int:
        """Return the limit of a tenant in a queue, or with None of the queue itself."""
        caps = self.queue(queue)
        return caps.own if tenant is None else caps.tenant(tenant)


def compile_backlog_limits(policy: Policy) -> BacklogLimits:
    """Return a policy's limits."""
    rules = [(glob(rule.match.queue), _of_queue(rule, policy)) for rule in policy.queues]
    return BacklogLimits(
        queues=FirstMatch(rules), any=any(caps.own or caps.of_tenants for _, caps in rules)
    )


def _of_queue(rule: QueueRule, policy: Policy) -> QueueBacklogLimits:
    default = rule.tenants.default
    overrides = [
        (tenants_of(each.match, policy), _limit(each.over(default).backlog))
        for each in rule.tenants.overrides
    ]
    own, others = _limit(rule.backlog), _limit(default.backlog)
    return QueueBacklogLimits(
        own=own,
        default=others,
        overrides=FirstMatch(overrides),
        of_tenants=bool(others) or any(limit for _, limit in overrides),
    )


def _limit(backlog: Backlog | None) -> int:
    return NO_LIMIT if backlog is None else backlog.limit
