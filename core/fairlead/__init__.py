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
    from fairlead.client import NewJob, enqueue, enqueue_many
    from fairlead.errors import Cancelled, Discard, OverBacklog, Retry, Snooze, StaleToken
    from fairlead.job import Job
    from fairlead.jsontext import Json
    from fairlead.tasks import Tasks
else:
    # Type checkers would take any name for one of these.
    _MODULES = {
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
        if name not in _MODULES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        found = getattr(importlib.import_module(f"{__name__}.{_MODULES[name]}"), name)
        globals()[name] = found
        return found

    def __dir__() -> list[str]:
        """List the names below even before they are imported."""
        return sorted({*globals(), *_MODULES})


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
