"""How a job looks to Django's tasks: a TaskResult."""

import builtins
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, cast

from django.utils import timezone

from fairlead.django.framework import (
    AnyResult,
    AnyTask,
    TaskError,
    TaskResult,
    TaskResultStatus,
)
from fairlead.job import Job as Attempt

if TYPE_CHECKING:
    from fairlead.django.models import Job  # there are no models before Django is set up

_STATUSES: Mapping[str, TaskResultStatus] = {
    "scheduled": TaskResultStatus.READY,
    "pending": TaskResultStatus.READY,
    "queued": TaskResultStatus.READY,
    "running": TaskResultStatus.RUNNING,
    "succeeded": TaskResultStatus.SUCCESSFUL,
    "failed": TaskResultStatus.FAILED,
    "cancelled": TaskResultStatus.FAILED,
    "expired": TaskResultStatus.FAILED,
}
_CANCELLED = "fairlead.errors.Cancelled"


def enqueued(task: AnyTask, job: int, given: Mapping[str, Any], backend: str) -> AnyResult:
    """Return the result of a task whose job has just been inserted."""
    return TaskResult(
        task=task,
        id=str(job),
        status=TaskResultStatus.READY,
        enqueued_at=timezone.now(),
        started_at=None,
        last_attempted_at=None,
        finished_at=None,
        args=given["args"],
        kwargs=given["kwargs"],
        backend=backend,
        errors=[],
        worker_ids=[],
    )


def of(job: "Job", task: AnyTask, backend: str) -> AnyResult:
    """Return the result of a task, given its job.

    Of former attempts nothing is kept but how many there were: `worker_ids` has an entry for
    each, and the latest alone names its worker. `started_at` is when the latest began.

    Raises:
        InvalidTask: the job's queue is none of the backend's.
    """
    args, kwargs = arguments(job.payload)
    known = "" if job.worker is None else str(job.worker)
    result = TaskResult(
        task=task.using(
            backend=backend,
            queue_name=job.queue,
            priority=job.priority,
            run_after=job.run_at,
        ),
        id=str(job.pk),
        status=_STATUSES[job.state],
        enqueued_at=job.created_at,
        started_at=job.claimed_at,
        last_attempted_at=job.claimed_at,
        finished_at=job.finished_at,
        args=args,
        kwargs=kwargs,
        backend=backend,
        errors=_errors(job),
        worker_ids=[*[""] * (job.attempt - 1), known] if job.attempt else [],
    )
    if job.state == "succeeded":
        note(result, _return_value=job.result)
    return result


def of_attempt(job: Attempt, task: AnyTask, *, worker: str) -> AnyResult:
    """Return the result of a task whose attempt begins now.

    Raises:
        ValueError: the payload has no arguments as `enqueue` writes them.
    """
    args, kwargs = arguments(job.payload)
    now = timezone.now()
    return TaskResult(
        task=task,
        id=str(job.id),
        status=TaskResultStatus.RUNNING,
        enqueued_at=None,
        started_at=now,
        last_attempted_at=now,
        finished_at=None,
        args=args,
        kwargs=kwargs,
        backend=task.backend,
        errors=[],
        worker_ids=[*[""] * (job.attempt - 1), worker],
    )


def arguments(payload: object) -> tuple[list[Any], dict[str, Any]]:
    """Return the arguments that a payload has; what it leaves out is empty.

    Raises:
        ValueError: it has others, or none.
    """
    members = cast("dict[str, Any]", payload) if isinstance(payload, dict) else {"": payload}
    args: object = members.get("args", [])
    kwargs: object = members.get("kwargs", {})
    is_whole = isinstance(args, list) and isinstance(kwargs, dict)
    if is_whole and members.keys() <= {"args", "kwargs"}:
        return cast("list[Any]", args), cast("dict[str, Any]", kwargs)
    raise ValueError(
        'the payload of a task of Django\'s is {"args": […], "kwargs": {…}}; this one is not'
    )


def note(result: AnyResult, **values: object) -> None:
    """Change a result, which is frozen; Django's own backends do it like this."""
    for name, value in values.items():
        object.__setattr__(result, name, value)


def _errors(job: "Job") -> list[TaskError]:
    """Return the latest error: an attempt's, or why there was none."""
    if job.state in {"cancelled", "expired"}:
        return [TaskError(exception_class_path=_CANCELLED, traceback=job.error or job.state)]
    if not job.error:
        return []
    name = job.error.partition("\n")[0].partition(":")[0]
    path = f"builtins.{name}" if isinstance(getattr(builtins, name, None), type) else name
    return [TaskError(exception_class_path=path, traceback=job.error)]
