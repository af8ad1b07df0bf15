"""The command `fairlead-scheduler`: `program`, loaded where a signal may already come."""

from collections.abc import Sequence

from fairlead.runtime import extras
from fairlead.runtime.startup import exiting_when_asked


def main(arguments: Sequence[str] | None = None) -> None:
    """Run a scheduler until SIGTERM or SIGINT; exit 2 with one sentence when it cannot."""
    with exiting_when_asked():
        extras.require("scheduler")
        from fairlead_scheduler import program  # noqa: PLC0415 - it is slow to load

        program.main(arguments)


if __name__ == "__main__":
    main()
