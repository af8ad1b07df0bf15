"""Become a program that dies with the process that started it, where the system tells of that.

As `fairlead_cli.dev.bound_module`, for programs that are not Python's.
"""

import os
import sys

from fairlead.runtime.parent_death import die_with_parent


def main() -> None:
    """Become what the second argument names; the first is the owner's process id."""
    _, owner, program, *arguments = sys.argv
    die_with_parent()
    if os.getppid() == int(owner):  # otherwise it died before the signal was set up
        os.execv(program, [program, *arguments])  # noqa: S606 - a list, and no shell


if __name__ == "__main__":
    main()
