"""A scheduler that counts nothing, and does not read the database for gauges."""

from __future__ import annotations

from collections.abc import Callable

from fairlead_scheduler import program as scheduler
from fairlead_scheduler.background.database_health import DatabaseHealth
from fairlead_scheduler.background.long_reads import LongReads
from fairlead_scheduler.leadership.periodic_task import PeriodicTask
from fairlead_scheduler.metrics.registry import Metrics

_SHOWN = frozenset({"gauges", "dead_jobs", "server", "tables"})
"""Periodic tasks that only metrics need."""
_TASKS_METHOD = "tasks"


class Nothing:
    """Stands in for all metrics: accepts any attribute and call."""

    def __getattr__(self, name: str) -> Nothing:
        """Return an object that accepts anything and does nothing."""
        return self

    def __call__(self, *_values: object, **_named: object) -> Nothing:
        """Do nothing."""
        return self


def without_shown(owner: type) -> None:
    """Remove the periodic tasks that only metrics need."""
    every: Callable[[object], tuple[PeriodicTask, ...]] = vars(owner)[_TASKS_METHOD]

    def tasks(self: object) -> tuple[PeriodicTask, ...]:
        return tuple(each for each in every(self) if each.name not in _SHOWN)

    setattr(owner, _TASKS_METHOD, tasks)


def no_metrics(**_named: object) -> Nothing:
    """Replace the class of the metrics."""
    return Nothing()


def main() -> None:
    """Run it until SIGTERM."""
    setattr(scheduler, Metrics.__name__, no_metrics)
    without_shown(LongReads)
    without_shown(DatabaseHealth)
    scheduler.main()


if __name__ == "__main__":
    main()
