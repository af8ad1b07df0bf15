"""An application whose child counts its looks for jobs while a limit on wake-ups stands still.

In its process no time passes for the limit that notifications have. So they end as many waits
as it allows at once, and hardly one after these, however slow the machine is.
"""

import os
from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

import fairlead
from fairlead.db import notifications
from fairlead_worker.attempts import attempt_store

_P = ParamSpec("_P")
_R = TypeVar("_R")
_looks = os.open(os.environ["LOOKS"], os.O_WRONLY | os.O_APPEND | os.O_CREAT)


def _now() -> float:
    return 0.0


def _counted(look: Callable[_P, _R]) -> Callable[_P, _R]:
    """Write a byte at each call."""

    @wraps(look)
    def counted(*args: _P.args, **kwargs: _P.kwargs) -> _R:
        os.write(_looks, b".")
        return look(*args, **kwargs)

    return counted


setattr(notifications, "monotonic", _now)  # noqa: B010 - it is not exported
attempt_store.claim = _counted(attempt_store.claim)
attempt_store.claimable = _counted(attempt_store.claimable)

tasks = fairlead.Tasks()
