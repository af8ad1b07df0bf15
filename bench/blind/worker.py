"""A worker whose children count nothing."""

from __future__ import annotations

import sys
from collections.abc import Callable

from fairlead_worker import children
from fairlead_worker import main as worker

_COMMAND = "_command"
"""The function that says how a child is started."""


def main() -> int:
    """Run it until SIGTERM; return its exit code."""
    command: Callable[..., list[str]] = vars(children)[_COMMAND]

    def blind(*values: object, **named: object) -> list[str]:
        python, flag, _module, *rest = command(*values, **named)
        return [python, flag, "bench.blind.child", *rest]

    setattr(children, _COMMAND, blind)
    return worker.main()


if __name__ == "__main__":
    sys.exit(main())
