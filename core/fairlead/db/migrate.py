"""Install and upgrade the schema: forward only, each migration once, one at a time.

Every migration runs in a transaction of its own that first locks the table of versions and then
looks whether it is still needed, so that any number of installers may run at once. A crash in
the middle leaves whole migrations and no half ones; the next run goes on from there.

Only the schema's owner can lock that table so. An advisory lock can be held by any login of the
database, for ever.

Services and applications go on meanwhile: no transaction waits longer than 200 ms for a lock
before it rolls back and is tried again, and what is as wanted already is not altered.
"""

import re
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache, partial
from importlib import resources
from typing import NamedTuple

import psycopg

from fairlead.db.connect import SERVER_LOWEST, Connection
from fairlead.db.error_text import one_line
from fairlead.db.lock_retry import LIMIT_SECONDS, LOCK_TIMEOUT, LockRetry
from fairlead.db.migrations import NAME
from fairlead.db.shared_session import is_standby

_COMPATIBLE = re.compile(r"^-- compatible-from: (\d+)$", re.MULTILINE)
_VIEW = re.compile(r"^create or replace view fairlead\.(\w+) .*?;$", re.MULTILINE | re.DOTALL)
_VIEW_COMMENT = re.compile(r"^comment on view .*?;$", re.MULTILINE | re.DOTALL)
_LOCK = "lock table fairlead.schema_versions in share row exclusive mode"
# PostgreSQL lets PUBLIC call every new function; it is revoked before the grants are set.
_REVOKE_FROM_PUBLIC = "revoke all on all functions in schema fairlead from public;"


class UnfitDatabase(Exception):
    """The database cannot hold the schema; the message is one sentence for people."""


class ServerTooOld(UnfitDatabase):
    """The server's version is not supported."""


@dataclass(frozen=True, slots=True)
class Migration:
    """One step; `compatible_from` is the oldest code version that can run on its schema."""

    version: int
    name: str
    compatible_from: int
    sql: str


class Arrangement(NamedTuple):
    """What every run arranges again, in one transaction."""

    name: str
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
        UnfitDatabase: the database cannot hold the schema.
    """
    _refuse_unfit(connection)
    state = schema_state(connection)
    if state.version > state.needed:
        return f"-- {state.newer()}\n"
    parts = [f"begin;\n{LOCK_TIMEOUT};\n{_resource('bootstrap.sql').strip()}\ncommit;"]
    parts += [
        f"-- {step.name}\n" + _transaction(step.sql, f"{_record(step)};", _REVOKE_FROM_PUBLIC)
        for step in migrations()
        if step.version > state.version
    ]
    parts += [f"-- {each.name}\n{_transaction(each.sql)}" for each in _arrangements(rls=rls)]
    return "\n\n".join(parts) + "\n"


def migrate(
    connection: Connection,
    *,
    rls: bool = False,
    limit_seconds: float = LIMIT_SECONDS,
    waiting: Callable[[str], None] = lambda _sentence: None,
) -> tuple[str, ...]:
    """Upgrade the schema to this code's version and return the names of the steps that ran.

    The connection must autocommit. Every run sets views, grants and row-level security again,
    so a later run grants the rights of roles that were created since, and takes away what these
    roles have beyond that. With `rls` a login sees tenants, else what it inserted. A schema
    that is newer than this code is left as it is, and so are views of the same version with
    columns that this code lacks. If the installer's login lacks a right, the server warns about
    what it could not do.

    Args:
        connection: Of the schema's owner.
        rls: Whether to install row-level security by tenant.
        limit_seconds: How long one step is tried while others hold what it has to lock.
        waiting: Called with one sentence after each try that got no lock.

    Raises:
        UnfitDatabase: nothing was run.
        TablesLocked: a step got no locks; whole steps before it stay. Run it again.
        psycopg.Error: the login may not do this, or a step failed; whole steps before it stay.
    """
    _refuse_unfit(connection)
    if schema_state(connection).version > migrations()[-1].version:
        return ()
    retry = LockRetry(connection, limit_seconds=limit_seconds, waiting=waiting)
    retry.run("the table of versions", partial(_make_versions, connection))
    ran = tuple(
        step.name
        for step in migrations()
        if retry.run(step.name, partial(_run_step, connection, step))
    )
    for each in _arrangements(rls=rls):
        retry.run(each.name, partial(_arrange, connection, each.sql))
    return ran


def _make_versions(connection: Connection) -> None:
    """Make what every migration stands on."""
    with connection.transaction():
        connection.execute(LOCK_TIMEOUT.encode())
        connection.execute(_resource("bootstrap.sql").encode())


def _run_step(connection: Connection, step: Migration) -> bool:
    """Run a migration if it is still needed; return whether it was."""
    with _exclusive_transaction(connection):
        needed = schema_state(connection).version < step.version
        if needed:
            connection.execute(f"{step.sql};{_record(step)};{_REVOKE_FROM_PUBLIC}".encode())
        return needed


def _arrange(connection: Connection, text: str) -> None:
    """Run what every run arranges again, unless a newer program has upgraded meanwhile."""
    with _exclusive_transaction(connection):
        if schema_state(connection).version == migrations()[-1].version:
            connection.execute(text.encode())


def _refuse_unfit(connection: Connection) -> None:
    """Refuse before the first step, instead of failing in a later one or in a program."""
    _refuse_old(connection.info.server_version)
    encoding = connection.info.parameter_status("server_encoding")
    if encoding not in (None, "UTF8"):  # None: a pooler does not say
        raise UnfitDatabase(
            f"the database's encoding is {encoding}, which cannot hold every text: create it "
            "anew with ENCODING 'UTF8' and TEMPLATE template0"
        )
    if is_standby(connection):
        raise UnfitDatabase("the server is a standby: connect to the primary")
    try:
        connection.execute(b"select pg_walfile_name(pg_current_wal_lsn())")
    except psycopg.Error as error:
        raise UnfitDatabase(
            "the server does not say which timeline it writes, which every claim asks for: "
            f"{one_line(error)}"
        ) from None


def _refuse_old(server_version: int) -> None:
    major = server_version // 10_000
    if major < SERVER_LOWEST:
        raise ServerTooOld(
            f"PostgreSQL {major} is too old: upgrade it to {SERVER_LOWEST} or newer"
        )


@contextmanager
def _exclusive_transaction(connection: Connection) -> Generator[None]:
    """Hold the installers' lock for one transaction, which waits for no lock for long."""
    with connection.transaction():
        connection.execute(LOCK_TIMEOUT.encode())
        connection.execute(_LOCK.encode())
        yield


def _transaction(*parts: str) -> str:
    body = "\n\n".join(part.strip() for part in parts)
    return f"begin;\n{LOCK_TIMEOUT};\n{_LOCK};\n{body}\ncommit;"


def _arrangements(*, rls: bool) -> tuple[Arrangement, ...]:
    """Return what every run arranges again; views first, since grants name them.

    Each is a transaction of its own, so that no lock is held while another one is waited for.
    That row-level security is by tenant is an option of the install, not of the run.
    """
    by_tenant = "update fairlead.install_options set rls = true where not rls;\n" if rls else ""
    return (
        Arrangement("views", _views()),
        Arrangement("comments", _resource("comments.sql")),
        Arrangement("roles", _resource("roles.sql")),
        Arrangement("row-level security", by_tenant + _resource("rls.sql")),
        Arrangement("history partitions", "select fairlead.make_history_partitions();"),
    )


def _views() -> str:
    """Return what replaces the views that are not as `views.sql` wants them."""
    views = _resource("views.sql")
    values = ",\n".join(
        f"('{found[1]}', $view$\n{found[0]}\n$view$)" for found in _VIEW.finditer(views)
    )
    comments = "\n".join(found[0] for found in _VIEW_COMMENT.finditer(views))
    text = _resource("replace_views.sql")
    return text.replace("{views}", values).replace("{comments}", comments)


def _record(step: Migration) -> str:
    columns = "version, name, compatible_from"
    values = f"{step.version}, '{step.name}', {step.compatible_from}"
    # A name that NAME matched holds no quote.
    return f"insert into fairlead.schema_versions ({columns}) values ({values})"  # noqa: S608 - no quotes in it
