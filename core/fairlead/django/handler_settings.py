"""Settings of a task's handler that Django's tasks have no words for."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any, TypedDict, TypeVar, Unpack, cast

from fairlead.kind_settings import Backoff

_FunctionT = TypeVar("_FunctionT", bound=Callable[..., Any])
_ATTRIBUTE = "fairlead_settings"


class HandlerSettings(TypedDict, total=False):
    """What `Tasks.handler` takes beside the kind; queue and priority are the task's own."""

    timeout: float | timedelta | None
    process: bool
    concurrency: int | None
    fleet_concurrency: int | None
    evictable: bool
    max_attempts: int | None
    at_most_once: bool
    backoff: Backoff | None


def handler_settings(
    **settings: Unpack[HandlerSettings],
) -> Callable[[_FunctionT], _FunctionT]:
    """Say how a task's function is to be run; it stands below Django's `@task`.

    The settings are those of `fairlead.Tasks.handler`. Other backends take no notice of them.

    Raises:
        TypeError: it stands above `@task`, or what it decorates is no function.
    """

    def note(function: _FunctionT) -> _FunctionT:
        if not callable(function):  # as a task is none
            raise TypeError(
                f"handler_settings decorates a function, and not a {type(function).__name__}: "
                "put it below @task"
            )
        setattr(function, _ATTRIBUTE, settings)
        return function

    return note


def settings_of(function: Callable[..., object]) -> HandlerSettings:
    """Return what was said of a function; nothing is an empty dict."""
    return cast("HandlerSettings", getattr(function, _ATTRIBUTE, {}))
