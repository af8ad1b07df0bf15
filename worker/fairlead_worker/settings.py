"""The worker's settings and its command line, checked before anything starts.

Flags win over `FAIRLEAD_*` variables. Run as a program with a descriptor's number and the
worker's arguments, it writes the checked values there: see `fairlead_worker.config`.
"""

import os
import re
import sys
from argparse import SUPPRESS
from collections.abc import Sequence
from contextlib import suppress
from datetime import timedelta

from pydantic import AliasChoices, Field, ValidationError, field_validator, model_validator

from fairlead import durations
from fairlead.runtime.arguments import Parser
from fairlead.settings import ServiceSettings, explain
from fairlead_worker.config import WorkerConfig
from fairlead_worker.metrics.series import WAIT_BOUNDS_MAX

_WAIT_LOWEST, _WAIT_HIGHEST = timedelta(milliseconds=10), timedelta(hours=24)
_APP = re.compile(r"[^\W\d][\w.]*:[^\W\d][\w.]*")


class WorkerSettings(ServiceSettings):
    """What the environment and the command line set."""

    app: str = Field(
        default="",
        validate_default=True,
        description="The application: module:attribute of a fairlead.Tasks with the handlers.",
    )
    pool: str = Field(
        default="default", min_length=1, description="The pool whose queues it serves."
    )
    concurrency: int = Field(
        default=50,
        ge=1,
        le=1000,
        description="Jobs that one child process runs at a time. While handlers that have to "
        "stop do not, it runs others in their places: four at most, and no more than half of "
        "this number, so none with 1.",
    )
    processes: int = Field(
        default=1,
        ge=1,
        le=128,
        description="Child processes that run handlers. The worker's slots are this many times "
        "`concurrency`.",
    )
    quarantine_processes: int = Field(
        default=4,
        ge=1,
        le=128,
        description="Quarantine processes: further processes for suspect jobs, whose process "
        "died under them; each runs one job at a time. As many as are needed are started, and "
        "never more than slots. A job that runs in one takes a slot; one that waits does not.",
    )
    isolate_blocking_kinds: bool = Field(
        default=True,
        description="Whether a kind of coroutines runs in processes of its own once its stalls "
        "of 100 ms or longer have kept the event loop from everything else for 250 ms within a "
        "minute: for a minute, and for twice as long each time that it does so again soon "
        "after its return. Switch it off if such handlers share memory with others.",
    )
    until_empty: bool = Field(
        default=False,
        description="Whether to stop when everything is done: no job of the queues that it "
        "serves is pending, queued, running, or waiting to be tried again after an error, a "
        "crash or a snooze, on any worker. It waits for jobs of a paused queue, and logs twice "
        "a minute which queues it waits for; it does not wait for jobs that the application "
        "scheduled for later and that are not due.",
    )
    jobs: int | None = Field(
        default=None,
        ge=1,
        description="How many jobs the worker claims before it stops, whatever becomes of "
        "them; `processes` is 1 then. It also stops once its pod is drained. Not set: it goes "
        "on.",
    )
    worker_name: str = Field(
        default="",
        max_length=200,
        description="Its name. If set, a former worker of this name and pod counts as dead, "
        "and its jobs are taken back at once; so set one only where no two workers share it. "
        "Empty: made of host, process and a random part.",
    )
    pod_uid: str | None = Field(
        default=None,
        validation_alias=AliasChoices("FAIRLEAD_POD_UID", "POD_UID"),
        description="The pod's UID, from the downward API. If set, a former worker of this pod "
        "and name counts as dead.",
    )
    pod_name: str | None = Field(
        default=None,
        validation_alias=AliasChoices("FAIRLEAD_POD_NAME", "POD_NAME"),
        description="The pod's name, from the downward API. The worker's name if none is set.",
    )
    worker_lease_seconds: float = Field(
        default=15.0,
        ge=1,
        le=600,
        description="Seconds after its last renewal until a worker counts as dead. The "
        "scheduler reads this variable too: give both the same value.",
    )
    worker_renew_seconds: float = Field(
        default=4.0, gt=0, description="Seconds between renewals; under a third of the lease."
    )
    worker_margin_seconds: float = Field(
        default=2.0,
        gt=0,
        description="Seconds before the end of a lease that was not renewed at which the "
        "worker ends its own handlers, so that none runs when another worker may start them.",
    )
    worker_call_seconds: float = Field(
        default=4.0,
        gt=0,
        description="Seconds until the parent cuts off a call that the database does not "
        "answer. Together with `worker_renew_seconds` under the lease less its margin, so that "
        "one renewal may fail.",
    )
    grace_seconds: float = Field(
        default=30.0,
        ge=0,
        le=86400,
        description="Seconds that running handlers have to end after SIGTERM; a job that runs "
        "longer is released without using up an attempt.",
    )
    overrun_grace_seconds: float = Field(
        default=5.0,
        ge=0,
        description="Seconds that a handler may run past its deadline, or past being "
        "cancelled, before its process is killed.",
    )
    metrics_kind_allowlist: str = Field(
        default="",
        description="Kinds that are labels of metrics, separated by commas; all others are "
        "`other`. Empty: the first 200 that occur.",
    )
    metrics_wait_bounds: str = Field(
        default="",
        description="Durations such as 30s, at most 8 and separated by commas, from 10ms to "
        "24h: further bounds of the histogram of waits. Give the pool's objective, so that the "
        "number of jobs that met it is counted and not estimated.",
    )

    @field_validator("metrics_wait_bounds")
    @classmethod
    def _are_durations(cls, metrics_wait_bounds: str) -> str:
        _seconds(metrics_wait_bounds)
        return metrics_wait_bounds

    @field_validator("app")
    @classmethod
    def _names_an_attribute(cls, app: str) -> str:
        if not _APP.fullmatch(app):
            raise ValueError("app must be module:attribute, such as --app shop.jobs:tasks")
        return app

    @model_validator(mode="after")
    def _relations(self) -> "WorkerSettings":
        lease, renew = self.worker_lease_seconds, self.worker_renew_seconds
        call, trusted = self.worker_call_seconds, lease - self.worker_margin_seconds
        if renew >= lease / 3:
            raise ValueError(
                f"worker_renew_seconds ({renew:g} s) must be under a third of "
                f"worker_lease_seconds ({lease:g} s): lower FAIRLEAD_WORKER_RENEW_SECONDS or "
                "raise FAIRLEAD_WORKER_LEASE_SECONDS"
            )
        if renew + call >= trusted:
            raise ValueError(
                f"worker_renew_seconds ({renew:g} s) and worker_call_seconds ({call:g} s) "
                "together must be under worker_lease_seconds less worker_margin_seconds "
                f"({trusted:g} s), or one slow call loses the lease: lower "
                "FAIRLEAD_WORKER_CALL_SECONDS"
            )
        if self.jobs is not None and self.processes > 1:
            raise ValueError(
                f"jobs ({self.jobs}) counts those of one process, and processes is "
                f"{self.processes}: set FAIRLEAD_PROCESSES to 1"
            )
        if self.network_timeout_seconds >= lease:
            raise ValueError(
                f"network_timeout_seconds ({self.network_timeout_seconds} s) must be under "
                f"worker_lease_seconds ({lease:g} s), or a connection that is dead is noticed "
                "after the lease is lost: lower FAIRLEAD_NETWORK_TIMEOUT_SECONDS"
            )
        return self

    def config(self) -> WorkerConfig:
        """Return the plain values."""
        values = self.model_dump(exclude={"metrics_wait_bounds"})
        return WorkerConfig(**values, metrics_wait_bounds=_seconds(self.metrics_wait_bounds))


def _seconds(setting: str) -> tuple[float, ...]:
    """Read bounds of waits, in ascending order.

    Raises:
        ValueError: one is not a bound, or they are too many; the message is one sentence.
    """
    texts = [each.strip() for each in setting.split(",") if each.strip()]
    if len(texts) > WAIT_BOUNDS_MAX:
        raise ValueError(
            f"metrics_wait_bounds has {len(texts)} bounds, and may have at most "
            f"{WAIT_BOUNDS_MAX}: leave some out"
        )
    found: set[float] = set()
    for text in texts:
        duration = durations.read(text)
        if duration is None or not _WAIT_LOWEST <= duration <= _WAIT_HIGHEST:
            raise ValueError(
                f"metrics_wait_bounds must be durations from 10ms to 24h, not {text!r}: "
                "write one as 500ms, 30s, 5m or 1h"
            )
        found.add(duration.total_seconds())
    return tuple(sorted(found))


def parser() -> Parser:
    """Return the parser; a flag that is not given leaves the setting to its variable."""
    made = Parser(
        prog="fairlead-worker",
        description="Claim jobs of one pool and run their handlers.",
        epilog="Every setting has a variable too: FAIRLEAD_ and its name in capitals.",
        argument_default=SUPPRESS,
        allow_abbrev=False,
    )
    for flag, field in (
        ("--app", "app"),
        ("--pool", "pool"),
        ("--concurrency", "concurrency"),
        ("--processes", "processes"),
        ("--jobs", "jobs"),
        ("--name", "worker_name"),
        ("--grace-seconds", "grace_seconds"),
        ("--health-port", "health_port"),
        ("--metrics-kind-allowlist", "metrics_kind_allowlist"),
        ("--log-format", "log_format"),
        ("--log-level", "log_level"),
    ):
        name = flag.rpartition("-")[2].upper()
        made.add_argument(flag, dest=field, metavar=name, help=_about(field))
    made.add_argument("--until-empty", action="store_true", help=_about("until_empty"))
    return made


def _about(field: str) -> str:
    return (WorkerSettings.model_fields[field].description or "").replace("%", "%%")


def read(arguments: Sequence[str]) -> WorkerConfig:
    """Read flags and environment.

    Raises:
        SystemExit: 0 after --help; 2 with one sentence for an unknown flag.
        pydantic.ValidationError: a value or a relation is wrong.
    """
    flags = vars(parser().parse_args(arguments))
    return WorkerSettings(**flags).config()


def main(arguments: Sequence[str]) -> int:
    """Write the checked values to the descriptor that the first argument names."""
    try:
        config = read(arguments[1:])
    except ValidationError as error:
        sys.stderr.write(f"fairlead: {explain(error)}\n")
        return 2
    with suppress(BrokenPipeError), os.fdopen(int(arguments[0]), "wb") as pipe:
        pipe.write(config.line())  # nobody reads it if the worker was asked to stop meanwhile
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
