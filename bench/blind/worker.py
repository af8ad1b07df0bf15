"""A worker whose children count nothing."""

from __future__ import annotations

import sys

from bench.blind import child, template
from fairlead_worker import main as worker
from fairlead_worker.parent import child_template

MODULES = {"_TEMPLATE": template.__name__, "_CHILD": child.__name__}
"""What the parent runs for its template and its children, replaced from outside."""


def main() -> int:
    """Run it until SIGTERM; return its exit code."""
    for name, module in MODULES.items():
        assert hasattr(child_template, name), name
        setattr(child_template, name, module)
    return worker.main()


if __name__ == "__main__":
    sys.exit(main())
