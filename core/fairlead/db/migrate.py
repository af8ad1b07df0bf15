"""Install and upgrade the schema: forward only, each migration once, one at a time.

Every migration runs in a transaction of its own that first locks the table of versions and then
looks whether it is still needed, so that any number of installers may run at once. A crash in
the middle leaves whole migrations and no half ones; the next run goes on from there.

Only the schema's owner can lock that table so. An advisory lock can be held by any login of the
database, for ever.
"""

import re
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from importlib import resources

import psycopg

from fairlead.db.connect import SERVER_LOWEST, Connection
from fairlead.db.migrations import NAME

_COMPATIBLE = re.compile(r"^-- compatible-from: (\d+)$", re.MULTILINE)
_LOCK = "lock table fairlead.schema_versions in share row exclusive mode"
_LOCK_TIMEOUT = "set local lock_timeout = '10s'"
# PostgreSQL lets PUBLIC call every new function; it is revoked before the grants are set.
_REVOKE_FROM_PUBLIC = "revoke all on all functions in schema fairlead from public;"


class ServerTooOld(Exception):
    """The server cannot hold the schema; the message is one sentence for people."""


@dataclass(frozen=True, slots=True)
class Migration:
    """One step; `compatible_from` is the oldest code version that can run on its schema."""

    version: int
    name: str
    compatible_from: int
    sql: str


@dataclass(frozen=True, slots=True)
class SchemaState:
    """The schema's version in a database and the one that this code needs. 0: no schema."""

    version: int
    compatible_from: int
    needed: int

    @property
    def fits(self) -> bool:
        """Whether this code can run on it: not older, and not newer beyond compatibility."""
        return self.needed <= self.version and self.compatible_from <= self.needed

    @property
    def too_new(self) -> bool:
        """Whether only newer code can run on it."""
        return self.version > self.needed and self.compatible_from > self.needed

    def newer(self) -> str:
        """Return a sentence on whether a newer schema fits this code."""
        relation = "fits it" if self.fits else "does not fit it: upgrade Fairlead"
        return (
            f"the schema is version {self.version}, newer than this code's {self.needed}, "
            f"and {relation}"
        )

    def sentence(self) -> str:
        """Return what is wrong, and the fix."""
        if self.version == 0:
            return "the database has no schema fairlead: run `fairlead migrate`"
        if self.too_new:
            return (
                f"the schema is version {self.version}, which needs code for version "
                f"{self.compatible_from} or newer, and this is code for {self.needed}: "
                "upgrade Fairlead"
            )
        return (
            f"the schema is version {self.version} and this code needs {self.needed}: "
            "run `fairlead migrate`"
        )


@cache
def migrations() -> tuple[Migration, ...]:
    """Return every migration, oldest first."""
    found: list[Migration] = []
    compatible_from = 1
    folder = resources.files("fairlead.db.migrations")
    for path in sorted(folder.iterdir(), key=lambda entry: entry.name):
        match = NAME.fullmatch(path.name)
        if match is None:
            continue
        sql = path.read_text("utf-8")
        stated = _COMPATIBLE.search(sql)
        compatible_from = int(stated.group(1)) if stated else compatible_from
        found.append(
            Migration(
                int(match["version"]), path.name.removesuffix(".sql"), compatible_from, sql
            )
        )
    return tuple(found)


def _resource(name: str) -> str:
    return resources.files("fairlead.db.migrations").joinpath(name).read_text("utf-8")


def schema_state(connection: Connection) -> SchemaState:
    """Read the schema's version in the database."""
    needed = migrations()[-1].version
    try:
        row = connection.execute(
            b"select coalesce(max(version), 0), coalesce(max(compatible_from), 0)"
            b" from fairlead.schema_versions"
        ).fetchone()
    except (psycopg.errors.UndefinedTable, psycopg.errors.InvalidSchemaName):
        row = None
    version, compatible_from = row or (0, 0)
    return SchemaState(int(str(version)), int(str(compatible_from)), needed)


def plan(connection: Connection, *, rls: bool = False) -> str:
    """Return the SQL that `migrate` would run now, for `psql`; a comment if there is nothing.

    Raises:
        ServerTooOld: the server cannot hold the schema.
    """
    _refuse_old(connection.info.server_version)
    state = schema_state(connection)
    if state.version > state.needed:
        return f"-- {state.newer()}\n"
    parts = [f"begin;\n{_resource('bootstrap.sql').strip()}\ncommit;"]
    parts += [
        f"-- {step.name}\n" + _transaction(step.sql, f"{_record(step)};", _REVOKE_FROM_PUBLIC)
        for step in migrations()
        if step.version > state.version
    ]
    parts.append(_transaction(*_repeatable(rls=rls)))
    return "\n\n".join(parts) + "\n"


def migrate(connection: Connection, *, rls: bool = False) -> tuple[str, ...]:
    """Upgrade the schema to this code's version and return the names of the steps that ran.

    The connection must autocommit. Every run sets views, grants and row-level security again,
    so a later run grants the rights of roles that were created since, and takes away what these
    roles have beyond that. With `rls` a login sees tenants, else what it inserted. A schema
    that is newer than this code is left as it is, and so are views of the same version with
    columns that this code lacks. If the installer's login lacks a right, the server warns about
    what it could not do.

    Raises:
        ServerTooOld: nothing was run.
        psycopg.errors.LockNotAvailable: another session held a table for 10 s; run it again.
        psycopg.Error: the login may not do this, or a step failed; whole steps before it stay.
    """
    _refuse_old(connection.info.server_version)
    if schema_state(connection).version > migrations()[-1].version:
        return ()
    ran: list[str] = []
    with connection.transaction():
        connection.execute(_resource("bootstrap.sql").encode())
    for step in migrations():
        with _exclusive_transaction(connection):
            if schema_state(connection).version < step.version:
                connection.execute(f"{step.sql};{_record(step)};{_REVOKE_FROM_PUBLIC}".encode())
                ran.append(step.name)
    with _exclusive_transaction(connection):
        if schema_state(connection).version == migrations()[-1].version:
            for text in _repeatable(rls=rls):
                connection.execute(text.encode())
    return tuple(ran)


def _refuse_old(server_version: int) -> None:
    """Refuse an old server before the first step, instead of failing in a later one."""
    major = server_version // 10_000
    if major < SERVER_LOWEST:
        raise ServerTooOld(
            f"PostgreSQL {major} is too old: upgrade it to {SERVER_LOWEST} or newer"
        )


@contextmanager
def _exclusive_transaction(connection: Connection) -> Generator[None]:
    """Hold the installers' lock for one transaction, which waits at most 10 s for a table."""
    with connection.transaction():
        connection.execute(_LOCK.encode())
        connection.execute(_LOCK_TIMEOUT.encode())
        yield


def _transaction(*parts: str) -> str:
    body = "\n\n".join(part.strip() for part in parts)
    return f"begin;\n{_LOCK};\n{_LOCK_TIMEOUT};\n{body}\ncommit;"


def _repeatable(*, rls: bool) -> tuple[str, ...]:
    """Return the SQL that every run executes again; views first, since grants name them.

    That row-level security is by tenant is an option of the install, not of the run.
    """
    by_tenant = "update fairlead.install_options set rls = true where not rls;"
    names = ("comments.sql", "roles.sql", "rls.sql")
    return (
        *([by_tenant] if rls else []),
        _views(),
        *(_resource(name) for name in names),
        "select fairlead.make_history_partitions();",
    )


def _views() -> str:
    """Return the views; a view is left alone if it has columns that this code lacks.

    A newer program of the same schema version may have appended columns. Removing them would
    break that program and applications that use them; after a rollback this code runs on them.
    """
    views = _resource("views.sql")
    return (
        f"do $run$ begin execute $views$\n{views}$views$;\n"
        "exception when invalid_table_definition then\n"
        "    raise warning 'the views are newer than this program''s, fit it, and were left as"
        " they are';\nend $run$;"
    )


def _record(step: Migration) -> str:
    columns = "version, name, compatible_from"
    values = f"{step.version}, '{step.name}', {step.compatible_from}"
    # A name that NAME matched holds no quote.
    return f"insert into fairlead.schema_versions ({columns}) values ({values})"  # noqa: S608 - no quotes in it
