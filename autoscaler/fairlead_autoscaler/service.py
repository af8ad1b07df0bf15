"""A controller process: waits for the schema, watches, stands for the Lease, and steps."""

import random
import threading
from collections.abc import Generator
from contextlib import closing, contextmanager
from time import monotonic

import psycopg

from fairlead import log
from fairlead.bell import Bell
from fairlead.service import Waiting, await_schema
from fairlead.store import Unreachable, connect, connect_patiently
from fairlead_autoscaler.controller import Controller
from fairlead_autoscaler.database import Database
from fairlead_autoscaler.settings import AutoscalerSettings

_log = log.get("autoscaler")
_AGAIN_SECONDS_MAX = 0.5
_CUT_SECONDS = 0.5
_SPACED_SECONDS = 0.2
"""Between two steps, however often a pool wakes."""


def database_fits(settings: AutoscalerSettings, stop: threading.Event) -> bool:
    """Wait until the database has a schema that this code can work with; False: asked to stop.

    Raises:
        SchemaTooNew: the schema needs newer code.
    """
    waiting = Waiting("autoscaler")
    while not stop.is_set():
        opened = connect_patiently(lambda: connect(settings, name="autoscaler"), stop, waiting)
        if opened is None:
            return False
        try:
            with closing(opened):
                if await_schema(opened, stop, waiting):
                    return True
        except (psycopg.Error, Unreachable) as error:
            waiting(" ".join(str(error).split()) or type(error).__name__)
            stop.wait(random.uniform(0, _AGAIN_SECONDS_MAX))
    return False


def serve(
    controller: Controller,
    database: Database,
    *,
    tick_seconds: float,
    stop: threading.Event,
    bell: Bell,
) -> None:
    """Step every tick, and when a pool wakes or the bell rings, until asked to stop.

    A write is refused when the Deployment has moved on, and it moves on by itself for a moment
    after each change of it: who waits for a pod is not to wait for that, and the step comes
    again at once.

    Args:
        controller: What does a step.
        database: What says that a pool wakes.
        tick_seconds: The rest between two steps.
        stop: Set it, and ring the bell, to have this return.
        bell: Ends a rest.
    """
    with _cutting(database):
        while not stop.is_set():
            began = monotonic()
            controller.step()
            if controller.again:
                continue
            stop.wait(max(0.0, _SPACED_SECONDS - (monotonic() - began)))
            if not stop.is_set():
                rest_seconds = max(0.0, tick_seconds - (monotonic() - began))
                database.wait(bell, rest_seconds, at_zero=controller.at_zero)


@contextmanager
def _cutting(database: Database) -> Generator[None]:
    """Cut off calls that hang while inside, so that each step ends and a stop is heeded."""
    over = threading.Event()

    def look() -> None:
        while not over.wait(_CUT_SECONDS):
            if database.cut_if_stuck(monotonic()):
                _log.warning("database.cut", reason="a call got no answer in time")

    thread = threading.Thread(target=look, name="database-cut", daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()
