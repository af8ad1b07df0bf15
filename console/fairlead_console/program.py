"""The program of `main`: settings, logs, health and signals around the console's server."""

import asyncio
import socket
import sys
import threading
from collections.abc import Sequence
from contextlib import closing

import uvicorn
from anyio import to_thread
from pydantic import ValidationError

from fairlead.db.connect import Unreachable
from fairlead.db.conninfo import has_password
from fairlead.metrics.registry import new_registry
from fairlead.runtime import log
from fairlead.runtime.arguments import Parser, refuse
from fairlead.runtime.health import CannotListen
from fairlead.runtime.wakeup import Wakeup
from fairlead.service import running
from fairlead.settings import explain
from fairlead_console.reads.sessions import Unfit, Unusable
from fairlead_console.screens.source import Source
from fairlead_console.settings import ConsoleSettings
from fairlead_console.web.access import BadLogins, logins
from fairlead_console.web.app import Console

_FLAGS = {
    "database_url": "--database-url",
    "database_url_file": "--database-url-file",
    "console_host": "--host",
    "console_port": "--port",
    "console_logins_file": "--logins-file",
    "health_port": "--health-port",
    "health_host": "--health-host",
    "log_format": "--log-format",
    "log_level": "--log-level",
}
_STOP_SECONDS = 3
_THREADS = 12
"""As many as read at once, and some that draw: each costs memory, and there are few cores."""


def main(arguments: Sequence[str] | None = None) -> None:
    """Serve the console until SIGTERM or SIGINT; exit 2 with one sentence when it cannot."""
    settings = read_settings(arguments)
    log.configure(settings.log_format, settings.log_level)
    try:
        if settings.has_logins:
            logins(settings)
        run(settings)
    except (BadLogins, Unusable, CannotListen) as error:
        refuse(str(error))


def run(settings: ConsoleSettings) -> None:
    """Serve the pages until this process is asked to stop.

    Raises:
        Unusable: the schema does not fit, or the login may not look.
        CannotListen: an address is taken.
    """
    stop = threading.Event()
    with (
        closing(_listening(settings)) as listener,
        closing(Source.of(settings)) as source,
        closing(Wakeup()) as wakeup,
        running(
            settings, wakeup, stop=stop, ready=lambda: True, registry=new_registry("console")
        ),
    ):
        _try(source)
        source.examiner.begin()
        server = _Server(settings, source, listener)
        server.start()
        source.pulse.start()
        sys.stderr.write(f"The console is at {server.address}\n")
        sys.stderr.flush()
        stop.wait()
        source.pulse.stop()
        source.simulator.close()  # else the server would wait for it
        server.stop()


def _try(source: Source) -> None:
    """Look once, so that a wrong login is said at the start; a database or schema may come.

    Raises:
        Unusable: it will not do.
    """
    try:
        with source.reads.one():
            pass
    except (Unreachable, Unfit) as error:
        log.get("console").warning("console.waiting", reason=str(error))


def _listening(settings: ConsoleSettings) -> socket.socket:
    """Return the socket of the pages.

    Raises:
        CannotListen: the address is taken or not this machine's.
    """
    host, port = settings.console_host, settings.console_port
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((host, port))
    except OSError as error:
        listener.close()
        raise CannotListen(
            f"cannot serve the console at {host} port {port}: {error.strerror}; "
            "FAIRLEAD_CONSOLE_PORT names another port"
        ) from None
    return listener


class _Server:
    """Serves the application in a thread of its own; the main thread has the signals."""

    def __init__(
        self, settings: ConsoleSettings, source: Source, listener: socket.socket
    ) -> None:
        self._listener = listener
        config = uvicorn.Config(
            Console(settings, source).app(),
            http="h11",
            ws="none",
            lifespan="off",
            log_config=None,
            access_log=False,
            server_header=False,
            # Else a header would say from which address a request comes, and be believed.
            proxy_headers=False,
            timeout_graceful_shutdown=_STOP_SECONDS,
        )
        self._server = uvicorn.Server(config)
        self._thread = threading.Thread(target=self._serve, name="pages")

    @property
    def address(self) -> str:
        """Where a browser finds the pages."""
        host, port = self._listener.getsockname()[:2]
        return f"http://{f'[{host}]' if ':' in host else host}:{port}"

    def start(self) -> None:
        """Begin to answer; from here on nobody who connects is refused."""
        self._listener.listen()
        self._thread.start()

    def stop(self) -> None:
        """Let requests end, and end."""
        self._server.should_exit = True
        self._thread.join()

    def _serve(self) -> None:
        asyncio.run(self._answer())

    async def _answer(self) -> None:
        to_thread.current_default_thread_limiter().total_tokens = _THREADS
        await self._server.serve(sockets=[self._listener])


def read_settings(arguments: Sequence[str] | None) -> ConsoleSettings:
    """Read the settings from the environment and the flags, which win; exit 2 if bad."""
    parser = Parser(
        prog="fairlead console",
        description="Serves pages in a browser on which people see a fleet and understand it. "
        "Every setting is a variable FAIRLEAD_...; these are flags as well.",
    )
    for name, flag in _FLAGS.items():
        text = ConsoleSettings.model_fields[name].description or ""
        parser.add_argument(flag, dest=name, help=text.replace("%", "%%"))
    flags = vars(parser.parse_args(arguments))
    given = {name: value for name, value in flags.items() if value is not None}
    try:
        # Together, since a flag may mend what would be wrong without it.
        read = ConsoleSettings(**given)
    except ValidationError as error:
        refuse(explain(error))
    if has_password(given.get("database_url", "")):
        refuse(
            "--database-url holds a password, and every user of this machine can see it there: "
            "put the URL into a file and name that in FAIRLEAD_DATABASE_URL_FILE"
        )
    return read
