"""Whose tasks are enqueued here, and which job runs here."""

from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar

from fairlead.job import Job

_tenant: ContextVar[str] = ContextVar("fairlead_tenant", default="")
_job: ContextVar[Job | None] = ContextVar("fairlead_job", default=None)


@contextmanager
def as_tenant(tenant: str) -> Generator[None]:
    """Enqueue tasks for a tenant: those of this block, and of what it calls or awaits.

    It stands in a middleware, or around one call. A task that runs is in such a block for the
    tenant of its own job.
    """
    before = _tenant.set(tenant)
    try:
        yield
    finally:
        _tenant.reset(before)


def current_tenant() -> str:
    """Return the tenant for which tasks are enqueued here; empty: none was said."""
    return _tenant.get()


def current_job() -> Job | None:
    """Return the job of the task that runs here, to report progress and the like; else None."""
    return _job.get()


@contextmanager
def running(job: Job) -> Generator[None]:
    """Run a task as its job: `current_job` is this one, and the tenant is the job's."""
    before = _job.set(job)
    try:
        with as_tenant(job.tenant):
            yield
    finally:
        _job.reset(before)
