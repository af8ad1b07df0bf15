"""A child's command line, which only its parent writes."""

from argparse import ArgumentParser, Namespace
from collections.abc import Sequence

from fairlead.runtime.log_choices import LogFormat

LIFESPAN_FAILED = 3
"""The exit code of a child whose application's lifespan has not started, or ended early."""


class ChildArguments(Namespace):
    """What the parent passes: see `ipc.messages`."""

    app: str
    pool: str
    concurrency: int
    stand_ins: int
    control_fd: int
    table_fd: int
    jobs: int | None
    quarantine: bool
    wait_bounds: tuple[float, ...]
    log_format: LogFormat
    log_level: str


def read(arguments: Sequence[str]) -> ChildArguments:
    """Read the command line.

    Raises:
        SystemExit: it is not what a parent writes.
    """
    parser = ArgumentParser(prog="fairlead_worker.child.child_main", allow_abbrev=False)
    for name in ("--app", "--pool"):
        parser.add_argument(name, required=True)
    for name in ("--concurrency", "--stand-ins", "--control-fd", "--table-fd"):
        parser.add_argument(name, type=int, required=True)
    parser.add_argument("--jobs", type=int)
    parser.add_argument("--quarantine", action="store_true")
    parser.add_argument("--wait-bounds", type=_numbers, default=())
    parser.add_argument("--log-format", default="auto")
    parser.add_argument("--log-level", default="info")
    return parser.parse_args(arguments, namespace=ChildArguments())


def _numbers(text: str) -> tuple[float, ...]:
    return tuple(map(float, text.split(",")))
