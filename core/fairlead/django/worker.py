"""What a worker runs: a handler for each task of Django's.

# mysite/jobs.py, for `fairlead-worker --app mysite.jobs:tasks`
os.environ.setdefault("DJANGO_SETTINGS_MODULE", "mysite.settings")
tasks = get_tasks()
"""

import os
import socket
from collections.abc import Callable, Coroutine
from inspect import iscoroutinefunction
from traceback import format_exception
from typing import Any, Unpack, cast

import django
from asgiref.sync import ThreadSensitiveContext, sync_to_async
from django.apps import apps
from django.db import connections, reset_queries
from django.utils import timezone

from fairlead import errors
from fairlead.django import context, registry, results
from fairlead.django.framework import (
    AnyTask,
    TaskContext,
    TaskError,
    TaskResultStatus,
    normalize_json,
    task_finished,
    task_started,
)
from fairlead.django.handler_settings import HandlerSettings, settings_of
from fairlead.job import Job
from fairlead.jsontext import JsonLike
from fairlead.tasks import OnError, Tasks

_NO_FAILURES = (errors.Snooze, errors.Cancelled, errors.StaleToken)


def get_tasks(
    *,
    name: str | None = None,
    on_error: OnError | None = None,
    **settings: Unpack[HandlerSettings],
) -> Tasks:
    """Set Django up and return handlers for all of its tasks that have Fairlead's backend.

    It finds those in the module `tasks` of each installed app, and in whatever else Django
    imports. To what it returns an application may add handlers of its own.

    Args:
        name: as for `fairlead.Tasks`, and so is `on_error`.
        on_error: called for failed attempts.
        settings: of handlers, as `Tasks.handler` takes them; `handler_settings` at a task wins.

    Raises:
        ValueError: a setting is out of bounds.
    """
    is_first = not apps.ready
    if is_first:
        django.setup()
    tasks = Tasks(name=name, on_error=on_error)
    for kind, task in registry.load().items():
        said: HandlerSettings = {**settings, **settings_of(task.func)}
        make = _coroutine if iscoroutinefunction(task.func) else _function
        register = cast("Callable[[object], object]", tasks.handler(kind, **said))
        register(make(task))
    if is_first:
        connections.close_all()  # whatever was opened meanwhile: no attempt runs in this thread
    return tasks


class _Run:
    """One attempt of a task, from the signal that it starts to the one that it has finished."""

    def __init__(self, task: AnyTask, job: Job) -> None:
        self._job = job
        worker = f"{socket.gethostname()}:{os.getpid()}"
        try:
            self.result = results.of_attempt(job, task, worker=worker)
        except ValueError as error:
            raise errors.Discard(str(error)) from None
        own = [TaskContext(task_result=self.result)] if task.takes_context else []
        self.args: list[Any] = [*own, *self.result.args]
        self.kwargs = self.result.kwargs
        self.sender = type(task.get_backend())

    def value(self, returned: object) -> JsonLike:
        """Return what the task returned as the result of its job."""
        try:
            return cast("JsonLike", normalize_json(returned))
        except (TypeError, ValueError) as error:
            raise errors.Discard(f"the task returned what is no JSON value: {error}") from error

    def is_final(self, error: Exception) -> bool:
        """Tell whether an exception ends the job as failed, as far as is known here."""
        if isinstance(error, _NO_FAILURES) or self._job.cancelled:
            return False
        job = self._job
        return isinstance(error, errors.Discard) or job.attempt >= job.max_attempts

    def note_failure(self, error: Exception) -> None:
        """Note how it ended."""
        kind = type(error)
        self.result.errors.append(
            TaskError(
                exception_class_path=f"{kind.__module__}.{kind.__qualname__}",
                traceback="".join(format_exception(error)),
            )
        )
        self._note_end(TaskResultStatus.FAILED)

    def note_success(self, value: object) -> None:
        """Note how it ended."""
        results.note(self.result, _return_value=value)
        self._note_end(TaskResultStatus.SUCCESSFUL)

    def _note_end(self, status: TaskResultStatus) -> None:
        results.note(self.result, status=status, finished_at=timezone.now())


def _function(task: AnyTask) -> Callable[[Job], JsonLike]:
    """Return a handler for a function, which runs in a thread or in a process.

    Django's connections are the thread's. Those that are too old, or broken, are closed before
    and after, as around a request; receivers of signals change nothing, whatever they raise.
    """

    def run(job: Job) -> JsonLike:
        reset_queries()
        _close_old_connections()
        try:
            with context.running(job):
                return _called(_Run(task, job), task.func)
        finally:
            _close_old_connections()

    return run


def _close_old_connections() -> None:
    """Do as Django around a request, but for a test's transaction, which a request ends."""
    for each in connections.all(initialized_only=True):
        if not each.in_atomic_block:
            each.close_if_unusable_or_obsolete()


def _called(run: _Run, function: Callable[..., object]) -> JsonLike:
    task_started.send_robust(run.sender, task_result=run.result)
    try:
        value = run.value(function(*run.args, **run.kwargs))
    except Exception as error:
        if run.is_final(error):
            run.note_failure(error)
            task_finished.send_robust(run.sender, task_result=run.result)
        raise
    run.note_success(value)
    task_finished.send_robust(run.sender, task_result=run.result)
    return value


def _coroutine(task: AnyTask) -> Callable[[Job], Coroutine[object, None, JsonLike]]:
    """Return a handler for a coroutine, which runs on the event loop.

    Django runs what blocks, such as its ORM, in a thread that belongs to the attempt, as it
    does for a request under ASGI. The thread ends with it, and so do its connections.
    """

    async def run(job: Job) -> JsonLike:
        async with ThreadSensitiveContext():
            try:
                with context.running(job):
                    return await _awaited(_Run(task, job), task.func)
            finally:
                await sync_to_async(connections.close_all)()

    return run


async def _awaited(
    run: _Run, function: Callable[..., Coroutine[object, None, object]]
) -> JsonLike:
    await task_started.asend_robust(run.sender, task_result=run.result)
    try:
        value = run.value(await function(*run.args, **run.kwargs))
    except Exception as error:
        if run.is_final(error):
            run.note_failure(error)
            await task_finished.asend_robust(run.sender, task_result=run.result)
        raise
    run.note_success(value)
    await task_finished.asend_robust(run.sender, task_result=run.result)
    return value
