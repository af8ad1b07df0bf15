"""Programs of the project, each of which prints what it found as JSON.

python -m tests.support.django_site.programs NAME [ARGUMENT…]

Without a name it forks one for each line of its input, `[URL, NAME, ARGUMENT…]`, and prints how
that ended: `["returned", VALUE]` or `["raised", TRACEBACK]`. Loading Django and the project is
most of what a program costs.
"""

import asyncio
import json
import os
import sys
import traceback
from collections.abc import Callable
from datetime import datetime
from io import StringIO
from typing import Any, cast
from zoneinfo import ZoneInfo

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "tests.support.django_site.settings")
django.setup()

from django.conf import settings  # noqa: E402 - after the setup
from django.contrib.auth.models import Permission, User  # noqa: E402 - after the setup
from django.core.checks import run_checks  # noqa: E402 - after the setup
from django.core.management import call_command  # noqa: E402 - after the setup
from django.db import connections, transaction  # noqa: E402 - after the setup
from django.test import Client  # noqa: E402 - after the setup
from django.test.utils import setup_test_environment  # noqa: E402 - after the setup

import fairlead  # noqa: E402 - after the setup
from fairlead.django import as_tenant, handler_settings  # noqa: E402 - after the setup
from fairlead.django.backend import FairleadBackend  # noqa: E402 - after the setup
from fairlead.django.framework import AnyResult  # noqa: E402 - after the setup
from tests.support.django_site.settings import place  # noqa: E402 - after the setup
from tests.support.django_site.shop import tasks  # noqa: E402 - after the setup

_NOON = datetime(2030, 5, 1, 12, 0)  # noqa: DTZ001 - its zone is for each program to say


def migrate() -> None:
    """Make the tables of Django and of the shop, and users of the admin pages."""
    call_command("migrate", run_syncdb=True, verbosity=0)
    for name in ("boss", "viewer", "nobody"):
        user = User.objects.create_user(
            name, password="word", is_staff=True, is_superuser=name == "boss"
        )
        if name == "viewer":
            user.user_permissions.set(Permission.objects.filter(codename="view_job"))


def enqueue() -> list[Any]:
    """Enqueue in a transaction that commits, and in one that rolls back."""
    noon = _NOON.replace(tzinfo=ZoneInfo("UTC")) if settings.USE_TZ else _NOON
    with transaction.atomic():
        first = tasks.write.enqueue("a", times=2)
        with as_tenant("acme"):
            second = tasks.write_later.using(run_after=noon).enqueue("b")
    with transaction.atomic():
        tasks.write.enqueue("lost")
        transaction.set_rollback(True)
    with as_tenant("later"):
        third = asyncio.run(_enqueue_later())
    return [_shown(each) for each in (first, second, third)]


async def _enqueue_later() -> AnyResult:
    return await tasks.write_later.using(priority=-100, queue_name="default").aenqueue("c")


def tenants() -> list[Any]:
    """Enqueue for whom OPTIONS say."""
    with as_tenant("nobody"):
        return [tasks.write.enqueue("acme").id]


def results(*ids: str) -> list[Any]:
    """Get the results of tasks."""
    found: list[Any] = []
    for each in ids:
        try:
            found.append(_shown(tasks.write.get_backend().get_result(each)))
        except Exception as error:  # noqa: BLE001 - what it is, is what the test asks
            found.append([type(error).__name__, str(error)])
    return found


def refused() -> list[str]:
    """Declare and enqueue what cannot be a job."""
    long_queue = tasks.write.using()
    object.__setattr__(long_queue, "queue_name", "q" * 129)
    calls: tuple[Callable[[], object], ...] = (
        lambda: tasks.write.using(priority=101),
        lambda: tasks.write.using(queue_name="other"),
        lambda: tasks.write.enqueue(cast("Any", object())),
        lambda: tasks.write.enqueue("\ud800"),
        lambda: FairleadBackend("other", {"OPTIONS": {"tennant": "a"}}),
        lambda: FairleadBackend("all", {"QUEUES": []}).validate_task(long_queue),
        lambda: handler_settings(process=True)(cast("Any", tasks.write)),
    )
    return [_error(each) for each in calls]


def full() -> list[str]:
    """Enqueue where the backlog is at its limit, and go on in the same transaction."""
    refusal = ""
    with transaction.atomic():
        try:
            with transaction.atomic():
                tasks.write.enqueue("one too many")
        except fairlead.OverBacklog as error:
            refusal = str(error)
        kept = tasks.write.using(queue_name="mail").enqueue("kept")
    return [refusal, kept.id]


def checks() -> list[Any]:
    """Run Django's checks."""
    return [[each.id, each.msg] for each in run_checks() if str(each.id).startswith("fairlead")]


def mistaken_tenant() -> list[str]:
    """Enqueue for a tenant that is no text."""
    return [_error(lambda: tasks.write.enqueue("a"))]


def admin(user: str, *requests: str) -> list[Any]:
    """Ask for pages as a user, each `METHOD path [field=value…]`; where each one ended."""
    setup_test_environment()  # or an answer has no context
    client = Client()
    client.force_login(User.objects.get(username=user))
    answers: list[Any] = []
    for each in requests:
        method, path, *fields = each.split(" ")
        given: dict[str, list[str]] = {}
        for field in fields:
            name, _, value = field.partition("=")
            given.setdefault(name, []).append(value)
        ask = client.get if method == "GET" else client.post
        answer = ask(f"/admin/{path}", given, follow=True)
        said = (
            [str(message) for message in answer.context["messages"]] if answer.context else []
        )
        answers.append([answer.status_code, answer.content.decode(), said])
    return answers


def queries(path: str) -> list[str]:
    """Return the statements that a page of the admin takes."""
    from django.db import connection  # noqa: PLC0415 - it is for this program alone
    from django.test.utils import CaptureQueriesContext  # noqa: PLC0415 - it is for this program alone

    client = Client()
    client.force_login(User.objects.get(username="boss"))
    with CaptureQueriesContext(connection) as captured:
        client.get(f"/admin/{path}")
    return [str(each["sql"]) for each in captured]


def dumped() -> list[str]:
    """Return the models that dumpdata finds rows of."""
    said = StringIO()
    call_command("dumpdata", stdout=said)
    return sorted({str(each["model"]) for each in json.loads(said.getvalue())})


def _error(call: Callable[[], object]) -> str:
    try:
        call()
    except Exception as error:  # noqa: BLE001 - what it is, is what the test asks
        return f"{type(error).__name__}: {error}"
    return "none"


def _shown(result: AnyResult) -> dict[str, Any]:
    return {
        "id": result.id,
        "status": str(result.status),
        "name": result.task.name,
        "queue": result.task.queue_name,
        "priority": result.task.priority,
        "run_after": result.task.run_after and result.task.run_after.isoformat(),
        "args": result.args,
        "kwargs": result.kwargs,
        "attempts": result.attempts,
        "finished": result.is_finished,
        "value": result.return_value if str(result.status) == "SUCCESSFUL" else None,
        "errors": [[each.exception_class_path, each.traceback] for each in result.errors],
        "times": [
            at is not None
            for at in (
                result.enqueued_at,
                result.started_at,
                result.last_attempted_at,
                result.finished_at,
            )
        ],
    }


def serve() -> None:
    """Fork a program for each line, one after another, until the input ends."""
    for line in sys.stdin:
        url, name, *arguments = cast("list[str]", json.loads(line))
        pid = os.fork()
        if pid == 0:
            _be_program(url, name, arguments)
        code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        if code != 0:
            _print(["raised", f"the program has ended with {code}"])


def _be_program(url: str, name: str, arguments: list[str]) -> None:
    """Run a program in this process, over this database, and end it."""
    try:
        os.environ["FAIRLEAD_DATABASE_URL"] = url
        connections.settings["default"].update(place(url))
        ended = ["returned", _program(name)(*arguments)]
        connections.close_all()
    except BaseException:  # noqa: BLE001 - whatever it is, it is told to the test
        ended = ["raised", traceback.format_exc()]
    _print(ended)
    os._exit(0)


def _program(name: str) -> Callable[..., object]:
    program: Callable[..., object] = globals()[name]
    return program


def _print(value: object) -> None:
    print(json.dumps(value), flush=True)  # noqa: T201 - it is what a program is for


if __name__ == "__main__":
    if len(sys.argv) > 1:
        _print(_program(sys.argv[1])(*sys.argv[2:]))
    else:
        serve()
