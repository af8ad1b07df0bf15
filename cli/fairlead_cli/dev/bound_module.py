"""Run a module as a program that dies with the process that started it.

`fairlead dev` stops its programs in order, but a killed one cannot. They would work on unseen,
with the code of then, beside those of the next `fairlead dev`. Where the system does not tell
of a parent's death, as macOS does not, they do.
"""

import os
import runpy
import sys

from fairlead.runtime.parent_death import die_with_parent


def main() -> None:
    """Run the module that the second argument names; the first is the owner's process id."""
    _, owner, module, *arguments = sys.argv
    die_with_parent()
    if os.getppid() != int(owner):  # it died before the signal was set up
        return
    sys.argv = [module, *arguments]
    runpy.run_module(module, run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main()
