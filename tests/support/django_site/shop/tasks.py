"""The tasks of the project."""

import asyncio
from typing import TYPE_CHECKING, Any

import django
from django.db import connection, transaction

import fairlead
from fairlead.django import current_job, current_tenant, handler_settings
from fairlead.django.framework import TaskContext, task_finished, task_started
from tests.support.django_site.shop.models import Note

if TYPE_CHECKING or django.VERSION >= (6, 0):
    from django.tasks import task
else:
    from django_tasks import task


def tenant_of(_task: object, args: tuple[Any, ...], _kwargs: object) -> str:
    """Say whose a task is, for OPTIONS: its first argument."""
    return f"of {args[0]}"


def no_tenant(*_given: object) -> None:
    """Say nothing, which is a mistake."""


@task()
def write(text: str, *, times: int = 1) -> dict[str, object]:
    """Write notes."""
    with transaction.atomic():
        for _ in range(times):
            Note.objects.create(text=text)
    return {"pid": connection.connection.info.backend_pid, "tenant": current_tenant()}


@task(queue_name="mail", priority=5)
async def write_later(text: str) -> tuple[str, str]:
    """Write a note from the event loop, and enqueue another for the same tenant."""
    await asyncio.sleep(0)
    note = await Note.objects.acreate(text=text)
    await write.aenqueue(f"after {text}")
    return ("wrote", note.text)


@task(takes_context=True)
@handler_settings(max_attempts=2, backoff=0.01)
def fail(context: "TaskContext[..., Any]", text: str) -> None:
    """Fail, and say which attempt it was."""
    job = current_job()
    assert job is not None
    job.progress(0.5, "half")
    raise ValueError(f"{text} {context.attempt} of {job.max_attempts}")


@task()
def discard() -> None:
    """Fail for good at once."""
    raise fairlead.Discard("never")


@task()
def unusable() -> object:
    """Return what is no JSON value."""
    return object()


@task()
@handler_settings(process=True)
def in_process() -> str:
    """Run in a process of its own."""
    return "in a process"


def _heard(signal: str) -> Any:  # noqa: ANN401 - Django's receivers take anything
    def note(task_result: Any, **_rest: object) -> None:  # noqa: ANN401 - as Django's
        Note.objects.create(
            text=f"{signal} {task_result.task.name} {task_result.status} {task_result.attempts}"
        )
        if task_result.task.name == "discard":
            raise RuntimeError("a receiver that fails")

    return note


HEARD = (_heard("started"), _heard("finished"))
task_started.connect(HEARD[0])
task_finished.connect(HEARD[1])
