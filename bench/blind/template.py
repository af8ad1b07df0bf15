"""A template whose children count nothing."""

from __future__ import annotations

import sys

from bench.blind.child import blind
from fairlead_worker.child import template


def main() -> int:
    """Run it until the parent has gone; return its exit code, and in a child the child's."""
    blind()
    return template.main(sys.argv[1:])


if __name__ == "__main__":
    sys.exit(main())
