"""The process in which the console runs a command of the command line, bounded.

It becomes `python -m fairlead_cli` with the arguments that it is given. So the console knows no
service, and what a person reads here is what the command prints.
"""

import os
import sys
from typing import Final

from fairlead.runtime.bounded_process import bound

MEMORY_BYTES_MAX: Final = 512 << 20
"""A simulation at all its own bounds was seen to fit into half of it."""
CPU_SECONDS_MAX: Final = 45
_NICENESS = 5
"""Behind the pages, and not behind all else: somebody waits for it."""


def main() -> None:
    """Bound this process, and become the command."""
    bound(memory_bytes=MEMORY_BYTES_MAX, cpu_seconds=CPU_SECONDS_MAX, niceness=_NICENESS)
    os.execv(sys.executable, [sys.executable, "-m", "fairlead_cli", *sys.argv[1:]])  # noqa: S606 - it is Python


if __name__ == "__main__":
    main()
