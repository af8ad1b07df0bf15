"""Connections to PostgreSQL, and errors in opening them.

Every session sets what its statements depend on (`session_settings`), whatever its role, its
database or the environment say. A service's direct session does so once, when it is opened, and
prepares its statements: a plan that was cached while a table was empty must not be a scan when
the table holds a million rows. Every other session may be shared, by PgBouncer's transaction
mode: it is set up for each transaction (`shared_session`), and nothing is prepared in it, so
every statement is planned for the table as it is.
"""

import contextlib
import os
import random
import re
import socket
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol, TypeVar

import psycopg
from psycopg.conninfo import make_conninfo

from fairlead.db import session_settings, tls
from fairlead.db.conninfo import find_error
from fairlead.db.session_settings import Settings
from fairlead.db.shared_session import SharedConnection

Connection = psycopg.Connection[tuple[object, ...]]
Opened = TypeVar("Opened")
_C = TypeVar("_C", bound=psycopg.Connection[Any])

SERVER_LOWEST = 15
"""The oldest major version of PostgreSQL on which the schema can be installed."""

_OPENINGS = ("connection failed: ", "connection is bad: ")
_SERVERS_ERROR = re.compile(r": \w+:  \S")
"""How libpq writes what a server says: its severity, in the server's language, and two spaces.
It keeps the SQLSTATE to itself."""
_ASKED_BACK = "Is the server running "

SESSION = session_settings.commands(session_settings.PLANS)
"""The commands by which no plan depends on statistics."""


class Address(Protocol):
    """Where the database is: `fairlead.settings.DatabaseSettings`, or its values alone.

    Not that class itself, so that a small process can connect without loading pydantic.
    """

    @property
    def database_url(self) -> str:
        """Connection URL or libpq keywords; empty: the file, else libpq's own variables."""
        ...

    @property
    def database_url_file(self) -> Path | None:
        """File that holds the URL, read again before each attempt."""
        ...

    @property
    def database_password_command(self) -> str:
        """Command that prints the password, run before each attempt; empty: there is none."""
        ...

    @property
    def database_password_seconds(self) -> int:
        """Seconds until that command is killed."""
        ...

    @property
    def database_direct(self) -> bool:
        """Whether sessions are direct, and not through PgBouncer in transaction mode."""
        ...

    @property
    def connect_timeout_seconds(self) -> int:
        """Seconds until one attempt is given up."""
        ...

    @property
    def network_timeout_seconds(self) -> int:
        """Seconds until a connection counts as dead whose other side acknowledges nothing."""
        ...


class Unreachable(Exception):
    """The database cannot be reached; the message is one sentence for people."""

    has_answered = False
    """Whether the refusal is what a server or a pooler answered."""


class Unverified(Unreachable):
    """Something answered that is not known to be the database, or offers no encryption."""


def conninfo(settings: Address) -> str:
    """Return the connection string, reading the secret's file now.

    Raises:
        Unreachable: the file cannot be read, is empty, or has no valid connection string.
    """
    if settings.database_url_file is None:
        return settings.database_url
    file = f"FAIRLEAD_DATABASE_URL_FILE: {settings.database_url_file}"
    try:
        text = settings.database_url_file.read_text("utf-8").strip()
    except OSError as error:
        raise Unreachable(
            f"FAIRLEAD_DATABASE_URL_FILE: cannot read {settings.database_url_file}: "
            f"{error.strerror}; mount the secret there or name another file"
        ) from None
    except UnicodeError:
        raise Unreachable(f"{file} is not UTF-8: write the connection URL in UTF-8") from None
    if not text:
        raise Unreachable(f"{file} is empty; put the connection URL into it")
    wrong = find_error(text)
    if wrong is not None:
        raise Unreachable(f"{file} {wrong}")
    return text


def with_password(settings: Address) -> str:
    """Return the connection string with the password that the settings' command prints now.

    Raises:
        Unreachable: there is no string or no password; the sentence has no part of either.
    """
    found = conninfo(settings)
    if not settings.database_password_command:
        return found
    from fairlead.db import password  # noqa: PLC0415 - few fleets have a command

    try:
        printed = password.ask(
            settings.database_password_command,
            found,
            seconds=settings.database_password_seconds,
        )
    except password.NoPassword as missing:
        raise Unreachable(f"FAIRLEAD_DATABASE_PASSWORD_COMMAND: {missing}") from None
    return make_conninfo(found, password=printed)


def connect(settings: Address, *, name: str, more: Settings | None = None) -> Connection:
    """Open one autocommitting session called `name`, which may be shared.

    Args:
        settings: where the database is.
        name: for `pg_stat_activity`.
        more: settings of its transactions in addition to those of every session.

    Raises:
        Unreachable: with one sentence that says why.
    """
    connection = _open(SharedConnection, settings, name)
    try:
        connection.set_up_transactions(more)
    except psycopg.Error as error:
        connection.close()
        raise Unreachable(f"cannot reach the database: {_one_line(error)}") from None
    return connection


def connect_service(
    settings: Address, *, name: str, more: Settings | None = None
) -> Connection:
    """Open a session for a service's hot statements; see the module's docstring.

    Args:
        settings: where the database is.
        name: for `pg_stat_activity`.
        more: settings in addition to those of a service's sessions, or in place of them.

    Raises:
        Unreachable: with one sentence that says why.
    """
    wanted = {**session_settings.SERVICE, **(more or {})}
    if not settings.database_direct:
        return connect(settings, name=name, more=wanted)
    connection: Connection = _open(psycopg.Connection, settings, name)
    connection.prepare_threshold = 2
    try:
        connection.execute(session_settings.of_session(connection.info.server_version, wanted))
    except psycopg.Error as error:
        connection.close()
        raise Unreachable(f"cannot reach the database: {_one_line(error)}") from None
    return connection


def _open(kind: type[_C], settings: Address, name: str) -> _C:
    silence_seconds = settings.network_timeout_seconds
    try:
        return kind.connect(
            with_password(settings),
            autocommit=True,
            application_name=f"fairlead {name}",
            # PgBouncer must know it, and what the environment says may be no encoding.
            client_encoding="UTF8",
            connect_timeout=settings.connect_timeout_seconds,
            prepare_threshold=None,  # statements would stay prepared in a shared session
            # The kernel probes a silent peer after half of the time and gives it up at its end;
            # for unacknowledged data the time counts from when it was sent.
            keepalives_idle=silence_seconds // 2,
            keepalives_interval=max(1, silence_seconds // 6),
            keepalives_count=3,
            tcp_user_timeout=silence_seconds * 1000,
        )
    except psycopg.Error as error:
        unverified = tls.explain(error, settings.connect_timeout_seconds)
        if unverified is not None:
            raise Unverified(unverified) from None
        unreachable = Unreachable(f"cannot reach the database: {_one_line(error)}")
        unreachable.has_answered = _SERVERS_ERROR.search(str(error)) is not None
        raise unreachable from None


def connect_with_backoff(
    open_one: Callable[[], Opened],
    stop: threading.Event,
    waiting: Callable[[str, float], None],
) -> Opened | None:
    """Retry until a session opens, or all of several; None: asked to stop first.

    Between attempts it rests with exponential backoff and jitter, at most 0.2 s at first and 5
    s in the end, and calls `waiting` with the error's sentence and the rest in seconds.
    """
    limit_seconds = 0.2
    while not stop.is_set():
        try:
            return open_one()
        except Unreachable as error:
            rest_seconds = random.uniform(limit_seconds / 4, limit_seconds)
            waiting(str(error), rest_seconds)
            stop.wait(rest_seconds)
            limit_seconds = min(limit_seconds * 2, 5.0)
    return None


def abort_connection(connection: Connection) -> None:
    """End the call in which another thread waits, as if the server had gone.

    This is for a frozen server: it refuses nothing, and the kernel of its machine acknowledges
    everything that is sent. The session is broken afterwards.
    """
    with contextlib.suppress(OSError, psycopg.Error):  # it ended by itself a moment ago
        twin = socket.socket(fileno=os.dup(connection.fileno()))
        with twin:
            twin.shutdown(socket.SHUT_RDWR)


def _one_line(error: psycopg.Error) -> str:
    """Return the error of the server or the network in one line, without libpq's question."""
    lines = [" ".join(line.split()) for line in str(error).splitlines()]
    said = " ".join(line for line in lines if line and not line.startswith(_ASKED_BACK))
    for opening in _OPENINGS:
        said = said.removeprefix(opening)
    return said.rstrip(".") or type(error).__name__
