"""The series of the policy's rules. Names come and go with policies, so labels are bounded."""

from prometheus_client import CollectorRegistry

from fairlead.metrics.registry import counter, gauge
from fairlead_scheduler.metrics import series

_RULES_MAX = 200
_OTHER = "other"


class RuleMetrics:
    """The series of the policy's rules, by their names."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._names: set[str] = set()
        self._true = gauge(series.RULE_TRUE, registry)
        self._overruns = counter(series.RULE_OVERRUNS, registry)
        self._errors = counter(series.RULE_ERRORS, registry)

    def show_true(self, rule: str, count: int) -> None:
        """Show for how many lanes or jobs a rule is true, and start its counters at 0."""
        self._true.labels(rule).set(count)
        for each in (self._overruns, self._errors):
            each.labels(self._named(rule))  # shown as 0 before it grows

    def count_overrun(self, rule: str) -> None:
        """Count an evaluation that took too long."""
        self._overruns.labels(self._named(rule)).inc()

    def count_error(self, rule: str) -> None:
        """Count an evaluation without a value."""
        self._errors.labels(self._named(rule)).inc()

    def clear(self) -> None:
        """Remove the rules' gauges: another policy is in force, or another scheduler leads."""
        self._true.clear()

    def _named(self, rule: str) -> str:
        """Return a rule's label; names beyond the first 200 share one."""
        if len(self._names) < _RULES_MAX:
            self._names.add(rule)
        return rule if rule in self._names else _OTHER
