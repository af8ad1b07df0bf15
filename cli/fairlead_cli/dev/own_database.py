"""A database of your own: `fairlead dev` runs scheduler and workers on it, and no server.

It is given as every program is given one, in `FAIRLEAD_DATABASE_URL` or in the file that
`FAIRLEAD_DATABASE_URL_FILE` names. libpq's variables alone do not count: a shell may have them
for other work.
"""

from pathlib import Path

from psycopg.conninfo import conninfo_to_dict

from fairlead import ownership
from fairlead.db import statements
from fairlead.db.connect import Connection, Unreachable, connect, conninfo, with_password
from fairlead.db.migrate import migrate, schema_state
from fairlead.settings import DatabaseSettings
from fairlead_cli.dev import data_folder
from fairlead_cli.dev.binaries import PostgresError

_LOOPBACK = ("127.0.0.1", "localhost")
_SCHEMA = "fairlead"


def given() -> str | None:
    """Return the connection string that the environment gives; None: it gives none.

    Raises:
        pydantic.ValidationError: a setting is wrong.
        PostgresError: the file with the URL cannot be read.
    """
    settings = DatabaseSettings()
    if not settings.database_url and settings.database_url_file is None:
        return None
    try:
        return conninfo(settings)
    except Unreachable as error:
        raise PostgresError(str(error)) from None


def with_its_password(url: str) -> str:
    """Return the connection string with the password that the environment's command prints.

    Raises:
        PostgresError: it prints none.
    """
    try:
        return with_password(DatabaseSettings(database_url=url, database_url_file=None))
    except Unreachable as error:
        raise PostgresError(str(error)) from None


def instead_of(folder: Path, *, data_dir: Path | None, port: int | None = None) -> str | None:
    """Return the database that is used instead of a project's; None: none is.

    A URL that `fairlead dev` has printed for the folder is the project's: people export it, and
    start `fairlead dev` again in the same terminal.

    Args:
        folder: the project's data folder.
        data_dir: what the command line says of that folder.
        port: what the command line says of its server's port.

    Raises:
        PostgresError: both are named, or the URL's file cannot be read.
        pydantic.ValidationError: a setting is wrong.
    """
    url = given()
    if url is None or _is_of(url, folder):
        return None
    if data_dir is not None or port is not None:
        option = "--port" if data_dir is None else "--data-dir"
        raise PostgresError(
            f"{option} is of a PostgreSQL that `fairlead dev` runs, and FAIRLEAD_DATABASE_URL "
            "names another database: leave one out"
        )
    return url


def _is_of(url: str, data_dir: Path) -> bool:
    wanted = conninfo_to_dict(url)
    named = {str(wanted.get(each) or "") for each in ("user", "dbname")}
    port = data_folder.former_port(data_dir)
    return (
        port is not None
        and str(wanted.get("port")) == str(port)
        and wanted.get("host") in _LOOPBACK
        and named == {data_folder.SUPERUSER}
    )


def prepare(url: str, *, release: str) -> tuple[str, ...]:
    """Make the database ready; return what its owner should know, where it is first.

    The schema is installed where there is none. An older one is left alone: others may run on
    it.

    Raises:
        PostgresError: it cannot be used; the text says why.
        UnfitDatabase: it cannot hold the schema.
        psycopg.Error: the login may not do this.
    """
    settings = DatabaseSettings(database_url=url, database_url_file=None)
    try:
        with connect(settings, name="dev") as connection:
            return _prepare(connection, release)
    except Unreachable as error:
        raise PostgresError(
            f"{error}; unset FAIRLEAD_DATABASE_URL to run on a PostgreSQL that `fairlead dev` "
            "starts"
        ) from None


def _prepare(connection: Connection, release: str) -> tuple[str, ...]:
    state = schema_state(connection)
    said = [_where(connection)]
    if state.version == 0:
        migrate(connection)
        said.append("the schema fairlead is installed in it")
    elif not state.fits:
        raise PostgresError(state.sentence())
    owner = ownership.owner_of(connection)
    if owner not in ("", release):
        raise PostgresError(ownership.refusal(owner, release))
    return (*said, *_warnings(connection))


def _where(connection: Connection) -> str:
    """Say which database it is, without a password."""
    info = connection.info
    return f"using the database {info.dbname} of {info.user} at {info.host}:{info.port}"


def _warnings(connection: Connection) -> list[str]:
    said: list[str] = []
    statement = statements.load("fairlead_cli.dev", "own_database")
    row = connection.execute(statement).fetchone()
    assert row is not None
    login, path, workers = str(row[0]), str(row[1]), int(str(row[2]))
    if workers:
        said.append(
            f"warning: {workers} other worker{'s are' if workers > 1 else ' is'} live on it: "
            "its jobs go to them and to yours"
        )
    if login == _SCHEMA and '"$user"' in path:
        said.append(
            f"warning: tables that the login {login} makes without naming a schema land in "
            f"Fairlead's own: run ALTER ROLE {login} SET search_path = public"
        )
    return said
