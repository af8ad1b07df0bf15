"""Schedules that an application declares beside its handlers, and how they reach the database.

They are rows of `fairlead.schedules` like others, with the application's name in
`declared_by`. An explicit step writes them, so that a worker of an older release that starts
late brings back nothing.
"""

from collections.abc import Coroutine
from typing import NamedTuple, TypeAlias, cast, overload

from fairlead import connections, jsontext
from fairlead.connections import AsyncConnection, Statement, SyncConnection
from fairlead.cron import Schedule
from fairlead.kind_defaults import Defaults
from fairlead.tasks import Tasks

Key: TypeAlias = tuple[str, str]
"""A schedule's tenant and name."""

_SYNC = Statement("sync_schedules", "sync_schedules")
_BYTES_MAX = 64 * 1024 * 1024


class SyncedSchedules(NamedTuple):
    """Which schedules were added, changed and removed: the tenant and the name of each."""

    added: tuple[Key, ...]
    changed: tuple[Key, ...]
    removed: tuple[Key, ...]


@overload
def sync_schedules(
    connection: AsyncConnection, tasks: Tasks
) -> Coroutine[object, None, SyncedSchedules]: ...
@overload
def sync_schedules(connection: SyncConnection, tasks: Tasks) -> SyncedSchedules: ...
def sync_schedules(
    connection: AsyncConnection | SyncConnection, tasks: Tasks
) -> Coroutine[object, None, SyncedSchedules] | SyncedSchedules:
    """Make the schedules in the database those that an application declares with `cron`.

    What is new is added, what differs is changed, and what this application has declared
    before and does no more is removed; jobs that it inserted stay. Schedules of other
    applications, and those that were inserted by hand, are left alone, and so is whether one
    is enabled. It is one transaction, noted in the audit log where it changes something; a
    repeat changes nothing. Call it in each deploy, once: `fairlead schedules sync` does.

    Args:
        connection: as for `enqueue`; with an asynchronous one, await the answer.
        tasks: the application, with a name.

    Raises:
        ValueError: the application has no name; or an expression cannot be read, where what
            reads it is installed (the extras `scheduler` and `console`), else the scheduler
            says so in `fairlead schedules list`; or a schedule's name is taken, by one that
            this application has not declared; or a payload does not fit its handler.
        psycopg.errors.InsufficientPrivilege: the login may not change schedules, or the name
            is taken by another login.
        psycopg.errors.CheckViolation: a field is out of bounds; the constraint says which.
    """
    given = _given(tasks)
    if connections.is_async(connection):
        return _sync_later(connection, given)
    usable = cast("SyncConnection", connection)
    with connections.whole(usable):
        return _read(connections.answers(usable, _SYNC, given))


async def _sync_later(connection: AsyncConnection, given: str) -> SyncedSchedules:
    async with connections.whole_async(connection):
        return _read(await connections.answers_async(connection, _SYNC, given))


def _given(tasks: Tasks) -> str:
    if tasks.name is None:
        raise ValueError(
            "an application with schedules needs a name, by which they are known as its own: "
            'fairlead.Tasks(name="…")'
        )
    for each in tasks.schedules:
        _check_cron(each)
    rows = [_row(each, tasks.defaults(each.kind)) for each in tasks.schedules]
    wanted = {"application": tasks.name, "schedules": rows}
    return jsontext.encode("schedules", wanted, bytes_max=_BYTES_MAX)


def _check_cron(schedule: Schedule) -> None:
    """Refuse an expression that the scheduler could not read, where that is known here.

    The zone is left to the scheduler: its machine may know others than this one.
    """
    try:
        from fairlead.cron_times import BadSchedule, parse  # noqa: PLC0415 - in some extras only
    except ModuleNotFoundError:
        return
    try:
        parse(schedule.cron, "UTC")
    except BadSchedule as error:
        raise ValueError(f"schedule {schedule.name!r}: {error}") from None


def _row(schedule: Schedule, said: Defaults) -> dict[str, object]:
    payload: object = {} if schedule.payload is None else schedule.payload
    timeout = said.timeout_seconds
    queue = said.queue if schedule.queue is None else schedule.queue
    return {
        "name": schedule.name,
        "cron": schedule.cron,
        "timezone": schedule.timezone,
        "missed": schedule.missed,
        "queue": queue or "default",
        "tenant": schedule.tenant,
        "kind": schedule.kind,
        "payload": payload if said.check is None else said.check(payload),
        "priority": said.priority or 0,
        "max_attempts": said.max_attempts,
        "timeout": None if timeout is None else f"{timeout} s",
        "expires_in": _interval(schedule.expires_in_seconds),
    }


def _interval(number: float | None) -> str | None:
    return None if number is None else f"{number} s"


def _read(rows: list[object]) -> SyncedSchedules:
    found: dict[str, list[Key]] = {"added": [], "changed": [], "removed": [], "taken": []}
    for row in rows:
        became, tenant, name = cast("list[str]", jsontext.parse("answer", str(row)))
        found[became].append((tenant, name))
    if found["taken"]:
        tenant, name = found["taken"][0]
        raise ValueError(
            f"schedule {name!r} of tenant {tenant!r} is there and this application has not "
            "declared it: give yours another name, or remove that one"
        )
    return SyncedSchedules(*(tuple(sorted(found[each])) for each in SyncedSchedules._fields))
