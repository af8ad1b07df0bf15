"""What every service does around its loops: pages, signals, and the wait for the schema.

A signal sets an event, and the loops end in order.
"""

import signal
import threading
from collections.abc import Callable, Generator
from contextlib import ExitStack, contextmanager
from time import monotonic
from types import FrameType
from typing import Protocol

from prometheus_client import CollectorRegistry

from fairlead import log
from fairlead.bell import Bell
from fairlead.health import Health
from fairlead.migrate import schema_state
from fairlead.reminder import Reminder
from fairlead.store import Connection

_SCHEMA_SECONDS = 1.0


class SchemaTooNew(Exception):
    """Only newer code can run on this schema; the message is one sentence for people."""


class Address(Protocol):
    """Where the pages are served."""

    @property
    def health_port(self) -> int | None:
        """A TCP port; None: they are not served."""
        ...

    @property
    def health_host(self) -> str:
        """An address; empty is every one."""
        ...


class Waiting:
    """Says what a service waits for, and why nothing goes on: now and then while it lasts.

    Args:
        name: The service's; its event is `<name>.waiting`.
    """

    def __init__(self, name: str) -> None:
        self._event, self._log, self._reminder = f"{name}.waiting", log.get(name), Reminder()

    def __call__(self, reason: str, _rest_seconds: float = 0.0) -> None:
        """Say it, unless it was said a moment ago."""
        if self._reminder.due(reason, monotonic()):
            self._log.warning(self._event, reason=reason)


def await_schema(connection: Connection, stop: threading.Event, waiting: Waiting) -> bool:
    """Wait until there is a schema that this code can work with; False: asked to stop.

    Raises:
        SchemaTooNew: the schema needs newer code.
        psycopg.Error: the session is broken, or may not look.
    """
    while not stop.is_set():
        state = schema_state(connection)
        if state.too_new:
            raise SchemaTooNew(state.sentence())
        if state.fits:
            return True
        waiting(state.sentence())
        stop.wait(_SCHEMA_SECONDS)
    return False


@contextmanager
def running(
    address: Address,
    bell: Bell,
    *,
    stop: threading.Event,
    again: threading.Event | None = None,
    ready: Callable[[], bool],
    registry: CollectorRegistry,
) -> Generator[None]:
    """Serve the pages, and heed signals, which ring the bell, while inside.

    Only the main thread may enter.

    Args:
        address: Where the pages are.
        bell: What ends the rest of the service's loop.
        stop: Set at the first signal,
        again: and this at the second.
        ready: Whether it has started; asked from another thread. One that was asked to stop
            is not ready.
        registry: What the pages show.

    Raises:
        CannotListen: the port is taken.
    """
    with ExitStack() as leaving:
        if address.health_port is not None:
            pages = Health(
                ready=lambda: ready() and not stop.is_set(),
                registry=registry,
                port=address.health_port,
                host=address.health_host,
            )
            leaving.enter_context(pages)
        leaving.enter_context(stopping(stop=stop, again=again or threading.Event()))
        former = signal.set_wakeup_fd(bell.signal_descriptor(), warn_on_full_buffer=False)
        leaving.callback(signal.set_wakeup_fd, former)
        yield


@contextmanager
def stopping(*, stop: threading.Event, again: threading.Event) -> Generator[None]:
    """Set `stop` at the first SIGTERM or SIGINT and `again` at the second, while inside.

    A terminal that is closed sets `stop` too, and no more however often that is told: its shell
    and the kernel both do. Where SIGHUP is ignored, as nohup has it, it stays ignored. Only
    the main thread may enter. The former handlers are back afterwards.
    """

    def asked(number: int, _frame: FrameType | None) -> None:
        (again if stop.is_set() and number != signal.SIGHUP else stop).set()

    heeded = [signal.SIGTERM, signal.SIGINT]
    if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:
        heeded.append(signal.SIGHUP)
    former = {number: signal.signal(number, asked) for number in heeded}
    try:
        yield
    finally:
        for number, handler in former.items():
            signal.signal(number, handler)
