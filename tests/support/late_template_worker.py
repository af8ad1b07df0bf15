"""A worker whose template of children forks and does not answer."""

import sys

from fairlead_worker import main as worker
from fairlead_worker.parent import child_template
from tests.support import late_template

MODULE = "_TEMPLATE"
"""What is replaced."""


def main() -> int:
    """Run it until SIGTERM; return its exit code."""
    assert hasattr(child_template, MODULE)
    setattr(child_template, MODULE, late_template.__name__)
    return worker.main()


if __name__ == "__main__":
    sys.exit(main())
