"""The programs of the fleet of `fairlead dev`: what they are called, how they are started."""

from collections.abc import Mapping
from dataclasses import dataclass

from fairlead_cli.dev.fleet import Program

SCHEDULER = "scheduler"
CONSOLE = "console"


@dataclass(frozen=True, slots=True)
class Shape:
    """How large the fleet is; `grace_seconds` is how long running jobs get at the end."""

    app: str
    workers: int
    """At first, where they are scaled."""
    concurrency: int
    processes: int
    grace_seconds: int
    reload: bool
    """Whether workers whose application does not load wait for a save."""
    console_port: int | None
    """None: there is no console."""
    console_operator_url: str
    """By which it acts; empty: as the environment says."""


def programs(shape: Shape, *, scaled: bool) -> tuple[Program, ...]:
    """Return the fleet's programs: a scheduler, a console, and workers under lasting names.

    Workers that are scaled are started by what scales them.
    """
    names = () if scaled else (f"worker-{number}" for number in range(1, shape.workers + 1))
    return (
        Program(SCHEDULER, "fairlead_scheduler.main"),
        *console(shape),
        *(worker(shape, name, {}) for name in names),
    )


def console(shape: Shape) -> tuple[Program, ...]:
    """Return the program of the console, if there is one.

    It shows payloads, which are the developer's own. On loopback alone everybody who reaches it
    may act, so it is always there.
    """
    if shape.console_port is None:
        return ()
    flags = ("--host", "127.0.0.1", "--port", str(shape.console_port))
    environment = {"FAIRLEAD_CONSOLE_PAYLOADS": "true"}
    if shape.console_operator_url:
        environment["FAIRLEAD_CONSOLE_OPERATOR_URL"] = shape.console_operator_url
    return (Program(CONSOLE, "fairlead_console.main", flags, environment),)


def worker(shape: Shape, name: str, environment: Mapping[str, str]) -> Program:
    """Return the program of one worker."""
    flags = (
        *("--app", shape.app),
        *("--concurrency", str(shape.concurrency)),
        *("--processes", str(shape.processes)),
        *("--grace-seconds", str(shape.grace_seconds)),
    )
    return Program(
        name, "fairlead_worker.main", (*flags, "--name", name), environment, shape.reload
    )


def environment(url: str, *, coloured: bool) -> Mapping[str, str]:
    """Return what the programs find: the database, and whether their lines have colours."""
    return {
        "FAIRLEAD_DATABASE_URL": url,
        "FAIRLEAD_LOG_FORMAT": "console",
        **({"FORCE_COLOR": "1"} if coloured else {}),
    }
