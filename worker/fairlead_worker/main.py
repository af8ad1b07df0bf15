"""The program `fairlead-worker`: read the settings, then run the parent."""

import sys

from fairlead.runtime.startup import exiting_when_asked
from fairlead_worker.config import SettingsProcess, SettingsRefused


def main() -> int:
    """Run one worker until it is asked to stop; return the exit code.

    0 after a stop or, with --until-empty, when all is done; 1 when its children keep dying as
    they start; 2, with one sentence, for settings, an application or a schema that cannot work.
    """
    with exiting_when_asked():
        reading = SettingsProcess(tuple(sys.argv[1:]))
        # While the settings are checked in their process, this one loads what it needs.
        from fairlead_worker.parent import supervisor  # noqa: PLC0415 - see the line above

        try:
            config = reading.config()
        except SettingsRefused as refused:
            return refused.code
        return supervisor.run(config)


if __name__ == "__main__":
    sys.exit(main())
