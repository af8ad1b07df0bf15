"""The command `fairlead-autoscaler`: `program`, loaded where a signal may already come."""

from collections.abc import Sequence

from fairlead.runtime import extras
from fairlead.runtime.startup import exiting_when_asked


def main(arguments: Sequence[str] | None = None) -> None:
    """Run a controller until SIGTERM or SIGINT; exit 2 with one sentence when it cannot.

    When one of its threads has failed, it releases the Lease and exits with 1.
    """
    with exiting_when_asked():
        extras.require("autoscaler")
        from fairlead_autoscaler import program  # noqa: PLC0415 - it is slow to load

        program.main(arguments)


if __name__ == "__main__":
    main()
