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

from fairlead import access, ownership
from fairlead.db.connect import Connection
from fairlead.db.migrate import schema_state
from fairlead.runtime import log
from fairlead.runtime.health import Health
from fairlead.runtime.log_throttle import LogThrottle
from fairlead.runtime.wakeup import Wakeup

_SCHEMA_SECONDS = 1.0
_OWNERSHIP_SECONDS = 2.0


class SchemaTooNew(Exception):
    """Only newer code can run on this schema; the message is one sentence for people."""


class PageAddress(Protocol):
    """Where the pages are served."""

    @property
    def health_port(self) -> int | None:
        """A TCP port; None: they are not served."""
        ...

    @property
    def health_host(self) -> str:
        """An address; empty is every one."""
        ...


class WaitLog:
    """Logs what a service waits for, at once and again every 30 s while it lasts.

    Args:
        name: The service's; its event is `<name>.waiting`.
    """

    def __init__(self, name: str) -> None:
        self._event, self._log, self._throttle = f"{name}.waiting", log.get(name), LogThrottle()

    def __call__(self, reason: str, _rest_seconds: float = 0.0) -> None:
        """Log the reason, unless it was logged within the last 30 s."""
        if self._throttle.due(reason, monotonic()):
            self._log.warning(self._event, reason=reason)


def await_schema(
    connection: Connection,
    service: access.Service,
    stop: threading.Event,
    waiting: WaitLog,
) -> bool:
    """Wait until there is a schema that this service can work with; False: asked to stop.

    Raises:
        RoleMissing: the login has not the service's role.
        SchemaTooNew: the schema needs newer code.
        psycopg.Error: the session is broken.
    """
    while not stop.is_set():
        reason = access.lacking(connection, service)
        if reason is None:
            state = schema_state(connection)
            if state.too_new:
                raise SchemaTooNew(state.sentence())
            if state.fits:
                return True
            reason = state.sentence()
        waiting(reason)
        stop.wait(_SCHEMA_SECONDS)
    return False


def await_ownership(
    connection: Connection,
    release: str,
    stop: threading.Event,
    waiting: WaitLog,
    *,
    claims: bool = True,
) -> bool:
    """Wait until the database belongs to this release; False: asked to stop.

    One that belongs to none becomes the release's if the service `claims` it; else it waits
    until another does, or `fairlead migrate`. Without a name it serves one without an owner.

    Raises:
        psycopg.Error: the session is broken.
    """
    while not stop.is_set():
        owner = ownership.own(connection, release) if claims else ownership.owner_of(connection)
        if owner == release:
            return True
        waiting(ownership.refusal(owner, release) if owner else ownership.unowned(release))
        stop.wait(_OWNERSHIP_SECONDS)
    return False


@contextmanager
def running(
    address: PageAddress,
    wakeup: Wakeup,
    *,
    stop: threading.Event,
    again: threading.Event | None = None,
    ready: Callable[[], bool],
    registry: CollectorRegistry,
) -> Generator[None]:
    """Serve the pages and handle signals, which wake the service's loop, while inside.

    Only the main thread may enter.

    Args:
        address: Where to serve the pages.
        wakeup: What ends the rest of the service's loop.
        stop: Set at the first signal.
        again: Set at the second signal.
        ready: Whether the service has started; called from another thread. A service that was
            asked to stop is not ready.
        registry: The metrics that the pages show.

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
        leaving.enter_context(wakeup.by_signals())
        yield


@contextmanager
def stopping(*, stop: threading.Event, again: threading.Event) -> Generator[None]:
    """Set `stop` at the first SIGTERM or SIGINT and `again` at the second, while inside.

    A closed terminal (SIGHUP) sets `stop` too, but never `again`, since both its shell and the
    kernel send the signal. If SIGHUP is ignored, as under nohup, it stays ignored. Only the
    main thread may enter. The former handlers are restored afterwards.
    """

    def asked(number: int, _frame: FrameType | None) -> None:
        (again if stop.is_set() and number != signal.SIGHUP else stop).set()

    handled = [signal.SIGTERM, signal.SIGINT]
    if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:
        handled.append(signal.SIGHUP)
    former = {number: signal.signal(number, asked) for number in handled}
    try:
        yield
    finally:
        for number, handler in former.items():
            signal.signal(number, handler)
