"""A controller process: wait for the schema, watch, stand for the Lease, and step."""

import random
import threading
from collections.abc import Generator
from contextlib import closing, contextmanager
from time import monotonic

import psycopg

from fairlead import access
from fairlead.db.connect import Unreachable, connect, connect_with_backoff
from fairlead.db.error_text import one_line
from fairlead.runtime import log
from fairlead.runtime.wakeup import Wakeup
from fairlead.service import WaitLog, await_ownership, await_schema
from fairlead_autoscaler.controller.controller import Controller
from fairlead_autoscaler.controller.database import Database
from fairlead_autoscaler.settings import AutoscalerSettings

_log = log.get("autoscaler")
_RETRY_SECONDS_MAX = 0.5
_ABORT_CHECK_SECONDS = 0.5
_SPACED_SECONDS = 0.2
"""The least time between two steps, however often a pool wakes."""


def wait_for_schema(settings: AutoscalerSettings, stop: threading.Event) -> bool:
    """Wait until the database has a schema that this code supports, and is this release's.

    False: asked to stop.

    Raises:
        RoleMissing: the login has not the autoscaler's role.
        SchemaTooNew: the schema needs newer code.
    """
    waiting = WaitLog("autoscaler")
    while not stop.is_set():
        opened = connect_with_backoff(
            lambda: connect(settings, name="autoscaler"), stop, waiting
        )
        if opened is None:
            return False
        try:
            with closing(opened):
                if await_schema(opened, access.AUTOSCALER, stop, waiting) and await_ownership(
                    opened, settings.release, stop, waiting, claims=False
                ):
                    return True
        except (psycopg.Error, Unreachable) as error:
            waiting(one_line(error))
            stop.wait(random.uniform(0, _RETRY_SECONDS_MAX))
    return False


def serve(
    controller: Controller,
    database: Database,
    *,
    tick_seconds: float,
    stop: threading.Event,
    wakeup: Wakeup,
) -> None:
    """Step every tick, and when a pool wakes or the wakeup is set, until asked to stop.

    A write is refused when the Deployment has changed, and the Deployment changes by itself for
    a moment after each write. Jobs that wait for a pod should not wait for that, so the step
    repeats at once.

    Args:
        controller: Does a step.
        database: Reports that a pool wakes.
        tick_seconds: The rest between two steps.
        stop: Set it, and call `wakeup.wake()`, to have this return.
        wakeup: Ends a rest.
    """
    with _aborting_stuck_calls(database):
        while not stop.is_set():
            began = monotonic()
            controller.step()
            if controller.is_repeat_due:
                continue
            stop.wait(max(0.0, _SPACED_SECONDS - (monotonic() - began)))
            if not stop.is_set():
                rest_seconds = max(0.0, tick_seconds - (monotonic() - began))
                database.wait(wakeup, rest_seconds, at_zero=controller.has_pool_at_zero)


@contextmanager
def _aborting_stuck_calls(database: Database) -> Generator[None]:
    """Abort calls that hang while inside, so that each step ends and a stop is obeyed."""
    finished = threading.Event()

    def watch() -> None:
        while not finished.wait(_ABORT_CHECK_SECONDS):
            if database.abort_if_stuck(monotonic()):
                _log.warning("database.call_aborted", reason="a call got no answer in time")

    thread = threading.Thread(target=watch, name="database-cut", daemon=True)
    thread.start()
    try:
        yield
    finally:
        finished.set()
        thread.join()
