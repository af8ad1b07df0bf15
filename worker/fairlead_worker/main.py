"""The pods' command `fairlead-worker`: read the settings, then be the parent."""

import sys
from types import ModuleType
from typing import cast

from fairlead_worker.orders import Reading, Refused


def main() -> int:
    """Run one worker until it is asked to stop; answer the exit code.

    0 after a stop or, with --until-empty, when all is done; 1 when its children keep dying as
    they start; 2, with one sentence, for settings, an application or a schema that cannot work.
    """
    reading = Reading(tuple(sys.argv[1:]))
    # The logs' library would load it for coloured tracebacks: a tenth of a parent's memory.
    sys.modules["rich"] = cast("ModuleType", None)
    # While the settings are checked in their process, this one loads what it needs.
    from fairlead_worker import parent  # noqa: PLC0415 - see the line above

    try:
        orders = reading.orders()
    except Refused as refused:
        return refused.code
    return parent.run(orders)


if __name__ == "__main__":
    sys.exit(main())
