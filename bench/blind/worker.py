"""A worker whose children count nothing."""

from __future__ import annotations

import sys
from collections.abc import Callable

from fairlead_worker import main as worker
from fairlead_worker.parent import child_handle

_COMMAND = "_command"
"""The function that returns the command of a child."""


def main() -> int:
    """Run it until SIGTERM; return its exit code."""
    command: Callable[..., list[str]] = vars(child_handle)[_COMMAND]

    def blind(*values: object, **named: object) -> list[str]:
        python, flag, _module, *rest = command(*values, **named)
        return [python, flag, "bench.blind.child", *rest]

    setattr(child_handle, _COMMAND, blind)
    return worker.main()


if __name__ == "__main__":
    sys.exit(main())
