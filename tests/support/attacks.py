"""What a login may try against the schema, made from the catalog: nothing has to be listed.

A new table, sequence, view or function is attacked because it is there. An attempt is one
statement that no role but the owner may run; it counts as refused only if PostgreSQL or the
schema refuses it, and a success is found by running it.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from random import Random
from typing import Final

import psycopg
from psycopg import Connection, Cursor, sql
from psycopg.rows import TupleRow

from tests.support import odd_shapes

ROLES: Final = (
    "fairlead_enqueue",
    "fairlead_reader",
    "fairlead_viewer",
    "fairlead_worker",
    "fairlead_operator",
    "fairlead_scheduler",
    "fairlead_autoscaler",
    "fairlead_admin",
)
"""Every role that logins are members of; `None` beside it stands for a stranger."""

_RELATIONS = """
    SELECT c.relname, c.relkind::text FROM pg_class c
    WHERE c.relnamespace = 'fairlead'::regnamespace AND c.relkind IN ('r', 'p', 'v', 'S')
    ORDER BY c.relname
"""
_FUNCTIONS = """
    SELECT format('fairlead.%I(%s)', p.proname, oidvectortypes(p.proargtypes)), p.oid,
           p.prorettype::regtype::text, p.proargtypes::regtype[]::text[]
    FROM pg_proc p WHERE p.pronamespace = 'fairlead'::regnamespace ORDER BY 1
"""
_NOT_OF = """
    SELECT quote_ident(r.rolname) FROM pg_roles r
    WHERE r.rolname ~ '^fairlead_' AND NOT pg_has_role(%s, r.oid, 'member')
"""
_EXTENSIONS = """
    SELECT quote_ident(e.name) FROM pg_available_extensions e
    WHERE e.installed_version IS NULL ORDER BY e.name
"""
_STATE = """
    SELECT 'database', d.datname::text, '', '', '' FROM pg_database d
    WHERE d.datname = 'stolen'
    UNION ALL
    SELECT 'class', c.relname::text, c.relowner::regrole::text, c.relacl::text,
           (SELECT count(*) FROM pg_trigger t WHERE t.tgrelid = c.oid)::text
    FROM pg_class c WHERE c.relnamespace = 'fairlead'::regnamespace
    UNION ALL
    SELECT 'proc', p.oid::regprocedure::text, p.proowner::regrole::text, p.proacl::text,
           md5(p::text)
    FROM pg_proc p WHERE p.pronamespace = 'fairlead'::regnamespace
    UNION ALL
    SELECT 'role', r.rolname::text, r.rolsuper::text, r.rolcreaterole::text,
           r.rolbypassrls::text
    FROM pg_roles r
    UNION ALL
    SELECT 'member', m.roleid::regrole::text, m.member::regrole::text, '', ''
    FROM pg_auth_members m
    UNION ALL
    SELECT 'namespace', n.nspname::text, n.nspowner::regrole::text, n.nspacl::text, ''
    FROM pg_namespace n WHERE n.nspname !~ '^pg_(toast_)?temp_'
    UNION ALL
    SELECT 'policy', p.polname::text, p.polrelid::regclass::text, '', '' FROM pg_policy p
    ORDER BY 1, 2, 3
"""

_MADE: Final = (
    "CREATE FUNCTION {mine}.taken() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN END'",
    "CREATE FUNCTION {mine}.noted() RETURNS event_trigger LANGUAGE plpgsql AS 'BEGIN END'",
)
_ON_TABLES: Final[tuple[str, ...]] = (
    "ALTER TABLE {it} ADD COLUMN stolen integer",
    "ALTER TABLE {it} OWNER TO {me}",
    "ALTER TABLE {it} RENAME TO stolen",
    "ALTER TABLE {it} SET SCHEMA {mine}",
    "ALTER TABLE {it} DISABLE TRIGGER ALL",
    "ALTER TABLE {it} ENABLE ROW LEVEL SECURITY",
    "ALTER TABLE {it} DISABLE ROW LEVEL SECURITY",
    "ALTER TABLE {it} SET (autovacuum_enabled = false)",
    "CREATE TRIGGER stolen BEFORE INSERT ON {it} FOR EACH ROW EXECUTE FUNCTION {mine}.taken()",
    "CREATE RULE stolen AS ON INSERT TO {it} DO ALSO SELECT 1",
    "CREATE POLICY stolen ON {it} USING (true)",
    "CREATE INDEX ON {it} ((1))",
    "CREATE STATISTICS {mine}.stolen ON (1), (2) FROM {it}",
    "CREATE TABLE {mine}.heir () INHERITS ({it})",
    "TRUNCATE {it}",
    "DROP TABLE {it}",
    "COMMENT ON TABLE {it} IS ''",
    "COPY {it} TO PROGRAM 'true'",
    "COPY {it} FROM PROGRAM 'true'",
    "COPY {it} TO '/tmp/stolen'",
    "COPY {it} FROM '/etc/passwd'",
)
_ON_VIEWS: Final[tuple[str, ...]] = (
    "CREATE OR REPLACE VIEW {it} AS SELECT 1 AS id",
    "ALTER VIEW {it} OWNER TO {me}",
    "ALTER VIEW {it} SET (security_invoker = true)",
    "ALTER VIEW {it} RESET (security_barrier)",
    "ALTER VIEW {it} SET SCHEMA {mine}",
    "DROP VIEW {it}",
    "CREATE RULE stolen AS ON INSERT TO {it} DO INSTEAD SELECT 1",
    "CREATE TRIGGER a INSTEAD OF INSERT ON {it} FOR EACH ROW EXECUTE FUNCTION {mine}.taken()",
)
_ON_SEQUENCES: Final[tuple[str, ...]] = (
    "ALTER SEQUENCE {it} RESTART WITH 1",
    "ALTER SEQUENCE {it} MAXVALUE 1",
    "ALTER SEQUENCE {it} OWNER TO {me}",
    "DROP SEQUENCE {it}",
)
_ON_FUNCTIONS: Final[tuple[str, ...]] = (
    "ALTER FUNCTION {it} OWNER TO {me}",
    "ALTER FUNCTION {it} SET search_path = {mine}",
    "ALTER FUNCTION {it} RESET ALL",
    "ALTER FUNCTION {it} SECURITY DEFINER",
    "ALTER FUNCTION {it} SET SCHEMA {mine}",
    "DROP FUNCTION {it}",
)
_ON_THE_SCHEMA: Final[tuple[str, ...]] = (
    "CREATE TABLE fairlead.stolen ()",
    "CREATE VIEW fairlead.stolen AS SELECT 1",
    "CREATE SEQUENCE fairlead.stolen",
    "CREATE TYPE fairlead.stolen AS ENUM ()",
    "CREATE DOMAIN fairlead.stolen AS integer",
    "CREATE FUNCTION fairlead.stolen() RETURNS integer LANGUAGE sql AS 'SELECT 1'",
    "CREATE OPERATOR fairlead.= (LEFTARG = bigint, RIGHTARG = bigint, FUNCTION = int8eq)",
    "CREATE AGGREGATE fairlead.stolen (integer) (SFUNC = int4pl, STYPE = integer)",
    'CREATE COLLATION fairlead.stolen FROM "C"',
    "ALTER SCHEMA fairlead RENAME TO stolen",
    "ALTER SCHEMA fairlead OWNER TO {me}",
    "DROP SCHEMA fairlead CASCADE",
    "ALTER DEFAULT PRIVILEGES FOR ROLE {owner} IN SCHEMA fairlead GRANT ALL ON TABLES TO {me}",
)
_ON_THE_SERVER: Final[tuple[str, ...]] = (
    "SET SESSION AUTHORIZATION {owner}",
    "SET ROLE {owner}",
    "GRANT {owner} TO {me}",
    "ALTER ROLE {me} SUPERUSER",
    "ALTER ROLE {me} BYPASSRLS",
    "ALTER ROLE {owner} PASSWORD 'stolen'",
    "ALTER ROLE {owner} SET search_path = {mine}",
    "ALTER ROLE fairlead_scheduler SET search_path = {mine}",
    "CREATE ROLE stolen SUPERUSER",
    "SET session_replication_role = replica",
    "COPY (SELECT 1) TO PROGRAM 'true'",
    "COPY (SELECT 1) TO '/tmp/stolen'",
    "SELECT lo_import('/etc/passwd')",
    "SELECT lo_export(1, '/tmp/stolen')",
    "SELECT pg_read_file('PG_VERSION')",
    "SELECT pg_ls_dir('.')",
    "SELECT pg_reload_conf()",
    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = '{owner}'",
    "SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE usename = '{owner}'",
    "SELECT pg_create_physical_replication_slot('stolen')",
    "SELECT pg_create_logical_replication_slot('stolen', 'test_decoding')",
    "CREATE PUBLICATION stolen FOR TABLE fairlead.jobs",
    "CREATE SUBSCRIPTION stolen CONNECTION '' PUBLICATION p WITH (connect = false)",
    "CREATE EVENT TRIGGER stolen ON ddl_command_start EXECUTE FUNCTION {mine}.noted()",
    "CREATE CAST (bigint AS jsonb) WITHOUT FUNCTION",
    "DROP CAST (integer AS bigint)",
    "CREATE OPERATOR pg_catalog.= (LEFTARG = text, RIGHTARG = bigint, FUNCTION = int8eq)",
    "DROP OPERATOR = (bigint, bigint)",
    "CREATE OPERATOR CLASS {mine}.stolen FOR TYPE bigint USING hash AS OPERATOR 1 =",
    "CREATE ACCESS METHOD stolen TYPE INDEX HANDLER bthandler",
    "ALTER DEFAULT PRIVILEGES FOR ROLE {owner} GRANT ALL ON FUNCTIONS TO {me}",
    "COPY pg_authid TO PROGRAM 'true'",
    "SELECT FROM pg_authid",
    "CREATE LANGUAGE c_stolen HANDLER plpgsql_call_handler",
    "CREATE FOREIGN DATA WRAPPER stolen",
    "CREATE FUNCTION {mine}.c() RETURNS integer LANGUAGE c AS 'libc', 'getpid'",
    "CREATE FUNCTION pg_catalog.stolen() RETURNS integer LANGUAGE sql AS 'SELECT 1'",
    "UPDATE pg_proc SET prosecdef = true",
    "DELETE FROM pg_trigger",
    "LOAD 'auto_explain'",
    "DROP EXTENSION plpgsql",
    "ALTER EXTENSION plpgsql UPDATE",
    "ALTER EXTENSION plpgsql ADD TABLE fairlead.jobs",
    "COMMENT ON EXTENSION plpgsql IS ''",
    "ALTER FUNCTION plpgsql_call_handler() OWNER TO {me}",
)
# PostgreSQL answers with a warning where the login has the right itself and cannot pass it on.
_GRANTS: Final[tuple[str, ...]] = (
    "GRANT ALL ON SCHEMA fairlead TO {me}",
    "GRANT ALL ON SCHEMA fairlead TO PUBLIC",
    "GRANT ALL ON ALL TABLES IN SCHEMA fairlead TO {me}",
    "GRANT ALL ON ALL TABLES IN SCHEMA fairlead TO PUBLIC",
    "GRANT ALL ON ALL SEQUENCES IN SCHEMA fairlead TO PUBLIC",
    "GRANT ALL ON ALL FUNCTIONS IN SCHEMA fairlead TO PUBLIC",
    "REVOKE ALL ON ALL TABLES IN SCHEMA fairlead FROM fairlead_scheduler",
    "REVOKE ALL ON ALL FUNCTIONS IN SCHEMA fairlead FROM fairlead_worker",
    "CREATE DATABASE stolen",
    "ALTER SYSTEM SET max_connections = 1",
)

_WRONG: Final[dict[str, tuple[str, ...]]] = {
    "text": (
        "NULL",
        "''",
        "'; DROP TABLE fairlead.jobs; --'",
        "repeat('x', 100000)",
        "(SELECT text FROM pg_temp.compressed)",
    ),
    "name": ("NULL", "''"),
    "bigint": ("NULL", "0", "-1", "9223372036854775807", "(-9223372036854775808)", "1"),
    "integer": ("NULL", "0", "-1", "2147483647", "(-2147483648)", "100000"),
    "smallint": ("NULL", "0::smallint", "32767::smallint"),
    "boolean": ("NULL", "true", "false"),
    "interval": ("NULL", "'0'", "'-1 day'", "'178000000 years'"),
    "jsonb": ("NULL", "'null'", "'[]'", "'{}'", "(SELECT jsonb FROM pg_temp.compressed)"),
    "timestamp with time zone": ("NULL", "'infinity'", "'-infinity'", "now()"),
    "double precision": ("NULL", "'nan'", "'infinity'", "-1", "1e308"),
    "date": ("NULL", "'infinity'", "now()::date"),
}


@dataclass(frozen=True, slots=True)
class Attacker:
    """A login with a schema of its own, in which it may make what it likes."""

    connection: Connection[TupleRow]
    name: str
    schema: str
    owner: str
    """Who owns the schema fairlead."""

    def statement(self, text: str, it: str = "") -> str:
        """Return an attempt on `it`, of names that need no quotes."""
        return text.format(it=it, me=self.name, mine=self.schema, owner=self.owner)

    def grant(self) -> None:
        """Try to pass on rights, and what cannot be undone; whether it did is in `state`."""
        for text in _GRANTS:
            with suppress(psycopg.errors.InsufficientPrivilege):
                self.connection.execute(self.statement(text).encode())

    def refused(self, attempt: str) -> str | None:
        """Run an attempt, undo it, and return the SQLSTATE that refused it; None: none did."""
        return self.answer(attempt)[0]

    def answer(
        self, attempt: str, *, keep: bool = False, look: Callable[[], object] = lambda: None
    ) -> tuple[str | None, str]:
        """Run an attempt, undo it, and return what refused it, and else what it answered.

        Args:
            attempt: One statement.
            keep: Whether to commit what it did.
            look: Called before that, while the transaction holds its locks.

        Raises:
            psycopg.Error: a fault of the server or of ours, and no refusal.
        """
        with self.connection.transaction(force_rollback=not keep):
            try:
                with self.connection.transaction():
                    done = self.connection.execute(attempt.encode())
                    look()
                    return None, _text(done)
            except psycopg.Error as error:
                if (error.sqlstate or "XX").startswith(("XX", "57", "58")):
                    raise
                return error.sqlstate, ""


def _text(done: Cursor[TupleRow]) -> str:
    """Return what was answered, as the server wrote it: Python has no year 294276."""
    result = done.pgresult
    assert result is not None
    return str(
        [
            result.get_value(row, column)
            for row in range(result.ntuples)
            for column in range(result.nfields)
        ]
    )


def attacker(superuser: Connection[TupleRow], connection: Connection[TupleRow]) -> Attacker:
    """Return the attacker that is logged in over a connection, and give it a schema."""
    # So that the catalog names everything outside of itself with its schema.
    superuser.execute("SET search_path = pg_catalog")
    name = connection.info.user
    owner = superuser.execute(
        "SELECT nspowner::regrole::text FROM pg_namespace WHERE nspname = 'fairlead'"
    ).fetchone()
    assert owner is not None
    by = Attacker(connection, name, name, str(owner[0]))
    superuser.execute(by.statement("CREATE SCHEMA {mine} AUTHORIZATION {me}").encode())
    for made in _MADE:
        connection.execute(by.statement(made).encode())
    connection.execute(odd_shapes.COMPRESSED)
    # No call of ours takes as long, whatever it is given.
    connection.execute("SET statement_timeout = '20s'")
    return by


def relations(superuser: Connection[TupleRow]) -> Iterator[tuple[str, str]]:
    """Yield the name and kind of every table, partition, view and sequence."""
    for name, kind in superuser.execute(_RELATIONS).fetchall():
        yield f"fairlead.{name}", str(kind)


def attempts(superuser: Connection[TupleRow], by: Attacker) -> Iterator[str]:
    """Yield every attempt that no role may succeed with: on each object, schema and server."""
    kinds = {"r": _ON_TABLES, "p": _ON_TABLES, "v": _ON_VIEWS, "S": _ON_SEQUENCES}
    for name, kind in relations(superuser):
        for text in kinds[kind]:
            yield by.statement(text, name)
    for signature, *_ in superuser.execute(_FUNCTIONS).fetchall():
        for text in _ON_FUNCTIONS:
            yield by.statement(text, str(signature))
    for text in (*_ON_THE_SCHEMA, *_ON_THE_SERVER):
        yield by.statement(text)
    yield from (f"SET ROLE {role}" for (role,) in superuser.execute(_NOT_OF, [by.name]))
    # With what it requires: PostgreSQL looks for that before it looks at rights.
    for (name,) in superuser.execute(_EXTENSIONS):
        yield f"CREATE EXTENSION {name} CASCADE"


def calls(
    superuser: Connection[TupleRow],
    by: Attacker,
    draw: Random,
    *,
    each: int,
    ids: Sequence[int],
    texts: Sequence[str],
) -> Iterator[tuple[bool, str]]:
    """Yield calls of functions with arguments that nobody means, and whether it may call.

    Every second number is one of `ids`, others' jobs, tokens, workers and epochs, and every
    second text one of `texts`, names of what is others'.
    """
    quoted = [sql.Literal(text).as_string() for text in texts]
    wrong = {
        **_WRONG,
        "bigint": _half(_WRONG["bigint"], [str(each) for each in ids]),
        "text": _half(_WRONG["text"], quoted),
        "name": _half(_WRONG["name"], quoted),
    }
    for signature, oid, returned, types in superuser.execute(_FUNCTIONS).fetchall():
        if returned in ("trigger", "event_trigger"):
            continue
        may = superuser.execute(
            "SELECT has_function_privilege(%s, %s::oid, 'execute')", (by.name, oid)
        ).fetchone()
        assert may is not None
        name = str(signature).partition("(")[0]
        for _ in range(each if may[0] else 1):
            given = ", ".join(f"({_wrong(kind, draw, wrong)})::{kind}" for kind in types)
            yield bool(may[0]), f"SELECT * FROM {name}({given})"


def shaped_calls(
    superuser: Connection[TupleRow], by: Attacker, own: Sequence[int]
) -> Iterator[str]:
    """Yield calls of each granted function with one argument of an odd shape or size.

    Each number is one of `own`, the login's worker, job and token.
    """
    for signature, oid, returned, types in superuser.execute(_FUNCTIONS).fetchall():
        may = superuser.execute(
            "SELECT has_function_privilege(%s, %s::oid, 'execute')", (by.name, oid)
        ).fetchone()
        if may != (True,) or returned in ("trigger", "event_trigger"):
            continue
        name = str(signature).partition("(")[0]
        for given in odd_shapes.arguments(types, own):
            yield f"SELECT * FROM {name}({given})"


def _half(wrong: Sequence[str], others: Sequence[str]) -> Sequence[str]:
    """Return as many of the one as of the other."""
    return [*list(wrong) * len(others), *list(others) * len(wrong)]


def _wrong(kind: str, draw: Random, wrong: Mapping[str, Sequence[str]]) -> str:
    """Return a value of a type that nobody means."""
    if kind.endswith("[]"):
        element = kind.removesuffix("[]")
        values = [_wrong(element, draw, wrong) for _ in range(draw.choice((0, 1, 2)))]
        return draw.choice(tuple(odd_shapes.arrays(element, ", ".join(values))))
    return draw.choice(wrong.get(kind, ("NULL",)))


def state(superuser: Connection[TupleRow]) -> Sequence[TupleRow]:
    """Return what an attack may have changed for good: owners, rights, code, roles."""
    return superuser.execute(_STATE).fetchall()
