"""Fairlead: a fair work queue on PostgreSQL.

An application imports `enqueue` and `enqueue_many` to insert jobs in its own transaction, and
`Tasks`, `Job` and the exceptions to write handlers. The modules below are shared by all
services and import none of them; only `fairlead.testing` stands above the services.

Each name is imported when it is first used: psycopg takes longer to import than most commands
take to run, and importing any submodule imports this package first. Begin with `client` and
`job`; core/README.md maps the rest.
"""

import importlib
import typing

if typing.TYPE_CHECKING:
    from fairlead.client import enqueue, enqueue_many
    from fairlead.errors import Cancelled, Discard, OverBacklog, Retry, Snooze, StaleToken
    from fairlead.injection import GIVEN
    from fairlead.job import Job
    from fairlead.job_control import JobStatus, cancel, retry, status
    from fairlead.jsontext import Json, JsonLike
    from fairlead.new_jobs import NewJob
    from fairlead.schedules import sync_schedules
    from fairlead.task import Task
    from fairlead.tasks import Tasks
    from fairlead.waiting import wait
else:
    # Type checkers would take any name for one of these.
    _MODULES = {
        **dict.fromkeys(("enqueue", "enqueue_many"), "client"),
        **dict.fromkeys(
            ("Cancelled", "Discard", "OverBacklog", "Retry", "Snooze", "StaleToken"), "errors"
        ),
        "GIVEN": "injection",
        "Job": "job",
        "NewJob": "new_jobs",
        **dict.fromkeys(("JobStatus", "cancel", "retry", "status"), "job_control"),
        **dict.fromkeys(("Json", "JsonLike"), "jsontext"),
        "sync_schedules": "schedules",
        "Task": "task",
        "Tasks": "tasks",
        "wait": "waiting",
    }

    def __getattr__(name: str) -> object:
        """Import one of the names below, once."""
        if name not in _MODULES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        found = getattr(importlib.import_module(f"{__name__}.{_MODULES[name]}"), name)
        globals()[name] = found
        return found

    def __dir__() -> list[str]:
        """List the names below even before they are imported."""
        return sorted({*globals(), *_MODULES})


__all__ = (
    "GIVEN",
    "Cancelled",
    "Discard",
    "Job",
    "JobStatus",
    "Json",
    "JsonLike",
    "NewJob",
    "OverBacklog",
    "Retry",
    "Snooze",
    "StaleToken",
    "Task",
    "Tasks",
    "cancel",
    "enqueue",
    "enqueue_many",
    "retry",
    "status",
    "sync_schedules",
    "wait",
)
