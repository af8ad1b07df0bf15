"""Become a program that dies with the process that started it, where the system tells of that.

As `fairlead.dev.bound`, for programs that are not Python's.
"""

import os
import sys

from fairlead.lifeline import die_with_parent


def main() -> None:
    """Become what the second argument names; the first is the owner's process id."""
    _, owner, program, *arguments = sys.argv
    die_with_parent()
    if os.getppid() == int(owner):  # otherwise it died before we could be told
        os.execv(program, [program, *arguments])  # noqa: S606 - a list, and no shell


if __name__ == "__main__":
    main()
