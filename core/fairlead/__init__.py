"""Fairlead: a fair work queue on PostgreSQL."""

from fairlead.client import NewJob, enqueue, enqueue_many
from fairlead.errors import Cancelled, Discard, OverBacklog, Retry, Snooze, StaleToken
from fairlead.job import Job
from fairlead.jsontext import Json
from fairlead.tasks import Tasks

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
