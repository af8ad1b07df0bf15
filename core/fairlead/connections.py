"""Run a statement over whatever connection an application has, in its transaction.

That is psycopg's, another driver's, SQLAlchemy's or Django's; with asynchronous ones the answer
is awaited. None but psycopg is imported here. A statement has one parameter, `%s::json`, and
its rows have one column: those are the same for all of them.
"""

import importlib
import inspect
from collections.abc import (
    AsyncGenerator,
    Awaitable,
    Callable,
    Generator,
    Iterable,
    Mapping,
    Sequence,
)
from contextlib import asynccontextmanager, closing, contextmanager
from typing import NamedTuple, Protocol, TypeAlias, TypeGuard, TypeVar, cast

import psycopg
from psycopg.rows import tuple_row

from fairlead.db import statements
from fairlead.errors import caused_by
from fairlead.own_transaction import DbApiCursor

_T = TypeVar("_T")
_BEGIN, _END = "savepoint fairlead", "release savepoint fairlead"
_UNDO = "rollback to savepoint fairlead"
_NO_TRANSACTION = "25P01"
_GIVEN, _NAMED, _NUMBERED = "%s::json", "cast(:given as json)", "$1::json"


class ClosingCursor(DbApiCursor, Protocol):
    """A cursor of a DB-API driver."""

    def close(self) -> object:
        """Release what the cursor holds."""
        ...


class DbApiConnection(Protocol):
    """A connection of a DB-API driver whose parameters are written `%s`, or Django's."""

    def cursor(self) -> ClosingCursor:
        """Make a cursor."""
        ...


class SqlAlchemyConnection(Protocol):
    """SQLAlchemy's Connection."""

    @property
    def connection(self) -> DbApiConnection:
        """The driver's connection."""
        ...


class SqlAlchemySession(Protocol):
    """SQLAlchemy's Session, or a scoped one."""

    def connection(self) -> SqlAlchemyConnection:
        """Return the connection of the session's transaction."""
        ...


class AsyncSqlAlchemySession(Protocol):
    """SQLAlchemy's AsyncSession."""

    @property
    def sync_session(self) -> object:
        """The session that it bridges to."""
        ...


class AsyncSqlAlchemyConnection(Protocol):
    """SQLAlchemy's AsyncConnection."""

    @property
    def sync_connection(self) -> object:
        """The connection that it bridges to."""
        ...


class AsyncpgConnection(Protocol):
    """asyncpg's connection, or one of its pool's."""

    def fetch(self, query: str, /, *args: object) -> Awaitable[object]:
        """Run a statement and return its rows."""
        ...

    def is_in_transaction(self) -> bool:
        """Whether a transaction is open."""
        ...


OtherConnection: TypeAlias = (
    DbApiCursor | DbApiConnection | SqlAlchemyConnection | SqlAlchemySession
)
SyncConnection: TypeAlias = (
    psycopg.Connection[object] | psycopg.Cursor[object] | OtherConnection
)
AsyncConnection: TypeAlias = (
    psycopg.AsyncConnection[object]
    | psycopg.AsyncCursor[object]
    | AsyncSqlAlchemySession
    | AsyncSqlAlchemyConnection
    | AsyncpgConnection
)


class _Executes(Protocol):
    def execute(self, statement: object, parameters: Mapping[str, str], /) -> Iterable[object]:
        """Run a statement and return its rows."""
        ...


class _Bridges(Protocol):
    def run_sync(self, run: Callable[["_Bridged"], _T], /) -> Awaitable[_T]:
        """Call a function with the connection that can be used at once."""
        ...


_Bridged: TypeAlias = SqlAlchemyConnection | SqlAlchemySession


def is_async(connection: AsyncConnection | SyncConnection) -> TypeGuard[AsyncConnection]:
    """Tell whether what is asked of a connection has to be awaited."""
    return (
        isinstance(connection, psycopg.AsyncConnection | psycopg.AsyncCursor)
        or _is_bridge(connection)
        or _is_of("asyncpg", connection)
    )


class Statement(NamedTuple):
    """A statement, and which of an application's calls runs it, for the sentence."""

    caller: str
    name: str
    package: str = "fairlead"

    @property
    def text(self) -> str:
        """Return it as text: some drivers take no bytes."""
        return statements.load(self.package, self.name).decode()


def answers(connection: SyncConnection, statement: Statement, given: str) -> list[object]:
    """Run a statement with its parameter, JSON text; return the only column of its rows.

    Raises:
        TypeError: it is nothing that could; the sentence says what could.
    """
    text = statement.text
    if isinstance(connection, psycopg.Cursor):
        connection = connection.connection
    if isinstance(connection, psycopg.Connection):
        with connection.cursor(row_factory=tuple_row) as cursor:
            cursor.execute(text.encode(), [given])
            return [row[0] for row in cursor.fetchall()]
    return [_only(row) for row in _rows_of_other(connection, statement, given)]


async def answers_async(
    connection: AsyncConnection, statement: Statement, given: str
) -> list[object]:
    """Run a statement as `answers` does, over an asynchronous connection."""
    text = statement.text
    if isinstance(connection, psycopg.AsyncCursor):
        connection = connection.connection
    if isinstance(connection, psycopg.AsyncConnection):
        async with connection.cursor(row_factory=tuple_row) as cursor:
            await cursor.execute(text.encode(), [given])
            return [row[0] for row in await cursor.fetchall()]
    if _is_bridge(connection):
        bridge = cast("_Bridges", connection)
        return await bridge.run_sync(lambda bridged: answers(bridged, statement, given))
    rows = await cast("AsyncpgConnection", connection).fetch(
        text.replace(_GIVEN, _NUMBERED), given
    )
    return [_only(row) for row in cast("Iterable[object]", rows)]


@contextmanager
def whole(connection: SyncConnection) -> Generator[None]:
    """Run several statements in the connection's transaction, all of them or none.

    Raises:
        ValueError: there is no transaction, and the connection has no way to begin one.
    """
    if isinstance(connection, psycopg.Cursor):
        connection = connection.connection
    if isinstance(connection, psycopg.Connection):
        if not connection.autocommit:
            connection.execute(b"select")  # begins the caller's, which this would commit else
        with connection.transaction():
            yield
        return
    with _no_transaction():
        _command(connection, _BEGIN)
    try:
        yield
    except BaseException:
        _command(connection, _UNDO)
        raise
    _command(connection, _END)


@asynccontextmanager
async def whole_async(connection: AsyncConnection) -> AsyncGenerator[None]:
    """Do as `whole`, over an asynchronous connection."""
    if isinstance(connection, psycopg.AsyncCursor):
        connection = connection.connection
    if isinstance(connection, psycopg.AsyncConnection):
        if not connection.autocommit:
            await connection.execute(b"select")
        async with connection.transaction():
            yield
        return
    with _no_transaction():
        await _command_async(connection, _BEGIN)
    try:
        yield
    except BaseException:
        await _command_async(connection, _UNDO)
        raise
    await _command_async(connection, _END)


@contextmanager
def _no_transaction() -> Generator[None]:
    try:
        yield
    except Exception as error:
        if caused_by(error, _NO_TRANSACTION) is None:
            raise
        raise ValueError(
            "so many jobs take several statements, and the connection commits each: begin a "
            "transaction before"
        ) from error


def _command(connection: OtherConnection, text: str) -> None:
    """Run a statement that has no rows."""
    if _is_of("sqlalchemy", connection):
        text_of = cast("Callable[[str], object]", importlib.import_module("sqlalchemy").text)
        cast("_Executes", connection).execute(text_of(text), {})
    elif callable(getattr(connection, "execute", None)):
        cast("DbApiCursor", connection).execute(text, [])
    else:
        with closing(cast("DbApiConnection", connection).cursor()) as cursor:
            cursor.execute(text, [])


async def _command_async(connection: AsyncConnection, text: str) -> None:
    if _is_bridge(connection):
        await cast("_Bridges", connection).run_sync(lambda bridged: _command(bridged, text))
    else:
        await cast("AsyncpgConnection", connection).fetch(text)


def _rows_of_other(
    connection: OtherConnection, statement: Statement, given: str
) -> list[object]:
    caller, text = statement.caller, statement.text
    execute = getattr(connection, "execute", None)
    if callable(execute) and _is_of("sqlalchemy", connection):
        text_of = cast("Callable[[str], object]", importlib.import_module("sqlalchemy").text)
        named = text_of(text.replace(_GIVEN, _NAMED))
        return [*cast("_Executes", connection).execute(named, {"given": given})]
    if inspect.iscoroutinefunction(execute):
        raise TypeError(
            f"{caller} cannot use {name(connection)}: of asynchronous connections it takes "
            "psycopg's, asyncpg's, and SQLAlchemy's AsyncSession and AsyncConnection"
        )
    if callable(execute) and callable(getattr(connection, "fetchall", None)):
        return _fetched(cast("DbApiCursor", connection), text, given)
    if callable(getattr(connection, "cursor", None)):
        with closing(cast("DbApiConnection", connection).cursor()) as cursor:
            return _fetched(cursor, text, given)
    raise TypeError(
        f"{caller} takes psycopg's connection or cursor, SQLAlchemy's Session or Connection, "
        "Django's connection, asyncpg's, or a connection or cursor of another driver, and not "
        f"{name(connection)}"
    )


def _fetched(cursor: DbApiCursor, text: str, given: str) -> list[object]:
    cursor.execute(text, [given])
    return [*cursor.fetchall()]


def _only(row: object) -> object:
    """Return the only column, from a driver whose rows are sequences or mappings."""
    if isinstance(row, Mapping):
        return next(iter(cast("Mapping[str, object]", row).values()))
    return cast("Sequence[object]", row)[0]


def _is_bridge(connection: object) -> bool:
    return _is_of("sqlalchemy", connection) and callable(getattr(connection, "run_sync", None))


def _is_of(package: str, connection: object) -> bool:
    return any(each.__module__.startswith(f"{package}.") for each in type(connection).__mro__)


def name(connection: object) -> str:
    """Return the type of what was given as a connection, for a sentence."""
    sort = type(connection)
    return f"{sort.__module__}.{sort.__qualname__}".removeprefix("builtins.")
