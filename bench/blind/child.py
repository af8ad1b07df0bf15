"""A worker's child that counts nothing."""

from __future__ import annotations

import sys

from fairlead_worker.child import child_main
from fairlead_worker.child.attempt_metrics import AttemptMetrics
from fairlead_worker.metrics.counters import Counters

COUNTING: tuple[tuple[type, tuple[str, ...]], ...] = (
    (AttemptMetrics, ("finished", "handed_back", "stale", "batch_stored", "flush")),
    (Counters, ("count", "observe")),
)
"""What a child counts with, replaced from outside."""


def nothing(*_values: object, **_named: object) -> None:
    """Count nothing."""


def blind() -> None:
    """Let this process, and what it forks, count nothing."""
    for owner, methods in COUNTING:
        for method in methods:
            assert hasattr(owner, method), method
            setattr(owner, method, nothing)


def main() -> int:
    """Run it until the parent stops it; return its exit code."""
    blind()
    return child_main.main(sys.argv[1:])


if __name__ == "__main__":
    sys.exit(main())
