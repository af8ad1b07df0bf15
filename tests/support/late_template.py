"""A template of children that forks and does not answer."""

import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import cast

from fairlead_worker.child import template

FORKED_VARIABLE = "LATE_TEMPLATE_FORKED"
"""Names the file that gets the id of the child."""
FORK = "_fork"
"""What is replaced."""


def main() -> int:
    """Run it until it is killed; in a child, return the child's exit code."""
    fork = cast("Callable[[], int]", getattr(template, FORK))

    def late() -> int:
        pid = fork()
        if pid > 0:
            Path(os.environ[FORKED_VARIABLE]).write_text(str(pid))
            signal.pause()
        return pid

    setattr(template, FORK, late)
    return template.main(sys.argv[1:])


if __name__ == "__main__":
    sys.exit(main())
