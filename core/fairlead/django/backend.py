"""The backend of Django's tasks: a task that is enqueued is a job.

    TASKS = {"default": {"BACKEND": "fairlead.django.backend.FairleadBackend"}}

The job is inserted over Django's connection, in its transaction: the one to which a router
sends `fairlead.Job`, or the default.
"""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any, cast

from django.conf import settings
from django.core.checks import CheckMessage, Error
from django.core.exceptions import ImproperlyConfigured
from django.db import connections, router
from django.utils import timezone
from django.utils.module_loading import import_string

from fairlead.client import enqueue
from fairlead.connections import SyncConnection
from fairlead.django import registry, results
from fairlead.django.context import current_tenant
from fairlead.django.framework import (
    AnyResult,
    AnyTask,
    BaseTaskBackend,
    InvalidTask,
    TaskResultDoesNotExist,
    normalize_json,
    task_enqueued,
)
from fairlead.django.models import Job
from fairlead.jsontext import JsonLike

_NAME_BYTES_MAX = 128
_ID_HIGHEST = 2**63 - 1
_OPTIONS = frozenset(("tenant",))


class FairleadBackend(BaseTaskBackend):
    """Enqueues tasks as jobs, of the kind that is the dotted path of the task's function.

    Args:
        alias: its name in TASKS.
        params: what stands there. OPTIONS may have `tenant`, the dotted path of a function that
            is called as `tenant(task, args, kwargs)` and returns whose job it is; without it
            that is what `as_tenant` says.

    Raises:
        ImproperlyConfigured: OPTIONS has anything else.
    """

    supports_defer = True
    supports_async_task = True
    supports_get_result = True
    supports_priority = True

    def __init__(self, alias: str, params: Mapping[str, Any]) -> None:
        super().__init__(alias, dict(params))
        unknown = sorted({*self.options} - _OPTIONS)
        if unknown:
            raise ImproperlyConfigured(
                f"OPTIONS of TASKS[{alias!r}] has {', '.join(unknown)}: Fairlead's backend "
                f"knows {', '.join(sorted(_OPTIONS))} alone"
            )

    def validate_task(self, task: AnyTask) -> None:
        """Refuse a task that could not be a job, and note one that can."""
        super().validate_task(task)
        kind = registry.kind_of(task)
        for what, name in (("dotted path", kind), ("queue", task.queue_name)):
            if not 1 <= len(name.encode()) <= _NAME_BYTES_MAX:
                raise InvalidTask(
                    f"The {what} of a task must be 1 to {_NAME_BYTES_MAX} bytes, and {name!r} "
                    "is not."
                )
        registry.note(task)

    def enqueue(
        self, task: AnyTask, args: Sequence[object], kwargs: Mapping[str, object]
    ) -> Any:  # noqa: ANN401 - a result of the task's types, which stubs alone have
        """Insert a job over Django's connection, in its transaction; return it as a result.

        Raises:
            InvalidTask: it cannot be a job; or the queue is none of the backend's.
            TypeError: an argument is no JSON value.
            fairlead.OverBacklog: its tenant or its queue has too many unfinished jobs. Of the
                transaction only what a savepoint keeps can be saved.
        """
        self.validate_task(task)
        given = cast("dict[str, Any]", normalize_json({"args": [*args], "kwargs": {**kwargs}}))
        job = enqueue(
            cast("SyncConnection", connections[router.db_for_write(Job)]),
            registry.kind_of(task),
            cast("JsonLike", given),
            queue=task.queue_name,
            tenant=self._tenant(task, args, kwargs),
            priority=int(task.priority),
            run_at=_with_time_zone(task.run_after),
        )
        result = results.enqueued(task, cast("int", job), given, self.alias)
        task_enqueued.send(type(self), task_result=result)
        return result

    def get_result(self, result_id: str) -> AnyResult:
        """Return how a task's job is, or how it ended.

        Raises:
            TaskResultDoesNotExist: there is no such job that the login may see, or it is none
                of this backend's tasks.
        """
        found = _find(result_id)
        task = None if found is None else registry.find(found.kind)
        if found is None or task is None:
            why = (
                "is none that this login may see" if found is None else "is no task of Django's"
            )
            raise TaskResultDoesNotExist(f"Job {result_id} {why}.")
        try:
            return results.of(found, task, self.alias)
        except (InvalidTask, ValueError) as error:
            raise TaskResultDoesNotExist(
                f"Job {result_id} is none of backend {self.alias!r}: {error}"
            ) from error

    def check(self, **kwargs: Any) -> list[CheckMessage]:  # noqa: ANN401 - as Django says
        """Return what is wrong with the settings."""
        found: list[CheckMessage] = [*super().check(**kwargs)]
        alias = router.db_for_write(Job)
        if connections[alias].vendor != "postgresql":
            found.append(
                Error(
                    f"TASKS[{self.alias!r}] is Fairlead's, and {alias!r} is not PostgreSQL.",
                    hint="Route the app label fairlead to a database that is.",
                    id="fairlead.E001",
                )
            )
        try:
            self._tenant_function()
        except ImportError as error:
            found.append(
                Error(
                    f"OPTIONS['tenant'] of TASKS[{self.alias!r}] cannot be imported: {error}",
                    hint="Give the dotted path of a function.",
                    id="fairlead.E002",
                )
            )
        return found

    def _tenant(
        self, task: AnyTask, args: Sequence[object], kwargs: Mapping[str, object]
    ) -> str:
        decide = self._tenant_function()
        if decide is None:
            return current_tenant()
        found = decide(task, args, kwargs)
        if not isinstance(found, str):
            raise TypeError(
                f"OPTIONS['tenant'] of TASKS[{self.alias!r}] returned a {type(found).__name__} "
                "for a tenant: return a str"
            )
        return found

    def _tenant_function(self) -> Callable[[AnyTask, object, object], object] | None:
        path = self.options.get("tenant")
        found = None if path is None else import_string(path)
        return cast("Callable[[AnyTask, object, object], object] | None", found)


def _find(result_id: str) -> Job | None:
    if not result_id.isascii() or not result_id.isdigit() or int(result_id) > _ID_HIGHEST:
        return None
    jobs = Job.objects.using(router.db_for_read(Job))
    return jobs.filter(pk=int(result_id)).order_by().first()


def _with_time_zone(instant: datetime | None) -> datetime | None:
    """Return an instant with a time zone, which it lacks where USE_TZ is off."""
    if instant is None or settings.USE_TZ or timezone.is_aware(instant):
        return instant
    return timezone.make_aware(instant)
