"""A scheduler that counts nothing, and does not look at the database to show how it is."""

from __future__ import annotations

from collections.abc import Callable

from fairlead_scheduler import main as scheduler
from fairlead_scheduler.chores import Chore
from fairlead_scheduler.metrics import Metrics
from fairlead_scheduler.surveys import Surveys
from fairlead_scheduler.vitals import Vitals

_SHOWN = frozenset({"gauges", "dead_jobs", "server", "tables"})
"""The chores that only metrics need."""
_DOOR = "chores"


class Nothing:
    """Stands for all metrics: whatever is asked of it, or done to it."""

    def __getattr__(self, name: str) -> Nothing:
        """Return what takes anything and does nothing."""
        return self

    def __call__(self, *_values: object, **_named: object) -> Nothing:
        """Do nothing."""
        return self


def without_shown(owner: type) -> None:
    """Leave the chores out that only metrics need."""
    every: Callable[[object], tuple[Chore, ...]] = vars(owner)[_DOOR]

    def chores(self: object) -> tuple[Chore, ...]:
        return tuple(each for each in every(self) if each.name not in _SHOWN)

    setattr(owner, _DOOR, chores)


def no_metrics(**_named: object) -> Nothing:
    """Take the place of the class of the metrics."""
    return Nothing()


def main() -> None:
    """Run it until SIGTERM."""
    setattr(scheduler, Metrics.__name__, no_metrics)
    without_shown(Surveys)
    without_shown(Vitals)
    scheduler.main()


if __name__ == "__main__":
    main()
