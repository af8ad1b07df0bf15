"""The program of `main`: settings, logs, health and signals around a scheduler."""

import gc
import threading
from collections.abc import Sequence
from contextlib import closing

from pydantic import ValidationError

from fairlead.access import RoleMissing
from fairlead.db.conninfo import has_password
from fairlead.runtime import log
from fairlead.runtime.arguments import Parser, refuse
from fairlead.runtime.health import CannotListen
from fairlead.runtime.wakeup import Wakeup
from fairlead.service import SchemaTooNew, running
from fairlead.settings import explain
from fairlead_scheduler.metrics.registry import Metrics
from fairlead_scheduler.replica import Scheduler
from fairlead_scheduler.settings import SchedulerSettings

_FLAGS = (
    "database_url",
    "database_url_file",
    "pool",
    "health_port",
    "health_host",
    "metrics_kind_allowlist",
    "metrics_tenants",
    "log_format",
    "log_level",
)
_WITHOUT_PASSWORD = (
    " Without a password here, where every user of the machine can read it: one belongs into "
    "the file that FAIRLEAD_DATABASE_URL_FILE names."
)
_COLLECT_AFTER = (50_000, 50, 100)
"""The garbage collector's thresholds. Lanes and heads make no cycles, and at ten thousand lanes
the default of 700 new objects made collection cost a quarter of the scheduler's time."""


def main(arguments: Sequence[str] | None = None) -> None:
    """Run a scheduler until SIGTERM or SIGINT; exit 2 with one sentence when it cannot."""
    settings = read_settings(arguments)
    log.configure(settings.log_format, settings.log_level)
    gc.set_threshold(*_COLLECT_AFTER)
    try:
        run(settings)
    except (RoleMissing, SchemaTooNew, CannotListen) as error:
        refuse(str(error))


def run(settings: SchedulerSettings) -> None:
    """Run a scheduler in this process's main thread until it is asked to stop.

    Raises:
        RoleMissing: the login has not the scheduler's role.
        SchemaTooNew: the schema needs newer code.
        CannotListen: the health pages' port is taken.
    """
    stop = threading.Event()
    metrics = Metrics(kind_allowlist=settings.metrics_kind_allowlist)
    with closing(Wakeup()) as wakeup:
        scheduler = Scheduler(settings, stop=stop, wakeup=wakeup, metrics=metrics)
        ready, registry = scheduler.ready.is_set, metrics.registry
        with running(settings, wakeup, stop=stop, ready=ready, registry=registry):
            scheduler.serve()


def read_settings(arguments: Sequence[str] | None) -> SchedulerSettings:
    """Read the settings from the environment and the flags, which win; exit 2 if bad."""
    parser = Parser(
        prog="fairlead-scheduler",
        description="Moves pending jobs into the work queue in fair order. Every setting is an "
        "environment variable FAIRLEAD_...; these are flags as well.",
    )
    for name in _FLAGS:
        text = SchedulerSettings.model_fields[name].description or ""
        text += _WITHOUT_PASSWORD if name == "database_url" else ""
        parser.add_argument(
            f"--{name.replace('_', '-')}", dest=name, help=text.replace("%", "%%")
        )
    flags = vars(parser.parse_args(arguments))
    given = {name: value for name, value in flags.items() if value is not None}
    try:
        read = SchedulerSettings.model_validate({**SchedulerSettings().model_dump(), **given})
    except ValidationError as error:
        refuse(explain(error))
    if has_password(given.get("database_url", "")):
        refuse(
            "--database-url holds a password, and every user of this machine can see it there: "
            "put the URL into a file and name that in FAIRLEAD_DATABASE_URL_FILE"
        )
    return read
