"""Fairlead: a fair work queue on PostgreSQL.

What it offers is imported when it is first asked for: psycopg takes longer to import than most
commands of the command line take to run, and every module below this one loads this one first.
"""

import importlib
import typing

if typing.TYPE_CHECKING:
    from fairlead.client import NewJob, enqueue, enqueue_many
    from fairlead.errors import Cancelled, Discard, OverBacklog, Retry, Snooze, StaleToken
    from fairlead.job import Job
    from fairlead.jsontext import Json
    from fairlead.tasks import Tasks
else:
    # Type checkers would take any name for one of these.
    _HOMES = {
        **dict.fromkeys(("NewJob", "enqueue", "enqueue_many"), "client"),
        **dict.fromkeys(
            ("Cancelled", "Discard", "OverBacklog", "Retry", "Snooze", "StaleToken"), "errors"
        ),
        "Job": "job",
        "Json": "jsontext",
        "Tasks": "tasks",
    }

    def __getattr__(name: str) -> object:
        """Import one of the names below, once."""
        if name not in _HOMES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        found = getattr(importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)
        globals()[name] = found
        return found

    def __dir__() -> list[str]:
        """List them before they are imported, too."""
        return sorted({*globals(), *_HOMES})


__all__ = (
    "Cancelled",
    "Discard",
    "Job",
    "Json",
    "NewJob",
    "OverBacklog",
    "Retry",
    "Snooze",
    "StaleToken",
    "Tasks",
    "enqueue",
    "enqueue_many",
)
