"""The series of the policy's rules. Names come and go with policies, so few are labels."""

from prometheus_client import CollectorRegistry

from fairlead.metrics import counter, gauge
from fairlead_scheduler import series

_RULES_MAX = 200
_OTHER = "other"


class RuleMetrics:
    """The series of the policy's rules, by their names."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._names: set[str] = set()
        self._true = gauge(series.RULE_TRUE, registry)
        self._overruns = counter(series.RULE_OVERRUNS, registry)
        self._errors = counter(series.RULE_ERRORS, registry)

    def true(self, rule: str, count: int) -> None:
        """Show for how many a rule holds, and from when on it is counted what goes wrong."""
        self._true.labels(rule).set(count)
        for each in (self._overruns, self._errors):
            each.labels(self._named(rule))  # is 0 before it grows

    def overruns(self, rule: str) -> None:
        """Count a look that took too long."""
        self._overruns.labels(self._named(rule)).inc()

    def errors(self, rule: str) -> None:
        """Count a look that found no value."""
        self._errors.labels(self._named(rule)).inc()

    def clear(self) -> None:
        """Show no rule any more: another policy is in force, or another scheduler leads."""
        self._true.clear()

    def _named(self, rule: str) -> str:
        """Return a rule's label; names that come when there are many share one."""
        if len(self._names) < _RULES_MAX:
            self._names.add(rule)
        return rule if rule in self._names else _OTHER
