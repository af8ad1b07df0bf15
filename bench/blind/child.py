"""A worker's child that counts nothing."""

from __future__ import annotations

import sys

from fairlead_worker import child
from fairlead_worker.counts import Counts
from fairlead_worker.tally import Tally

COUNTING: tuple[tuple[type, tuple[str, ...]], ...] = (
    (Counts, ("finished", "handed_back", "stale", "wrote", "close_second")),
    (Tally, ("count", "observe")),
)
"""What a child counts with, from outside."""


def nothing(*_values: object, **_named: object) -> None:
    """Count nothing."""


def main() -> int:
    """Run it until the parent says otherwise; return its exit code."""
    for owner, doors in COUNTING:
        for door in doors:
            assert hasattr(owner, door), door
            setattr(owner, door, nothing)
    return child.main(sys.argv[1:])


if __name__ == "__main__":
    sys.exit(main())
