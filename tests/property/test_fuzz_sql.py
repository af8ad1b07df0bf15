"""No value makes a function or a column fail other than by saying what is wrong with it.

The functions, their arguments and the columns come from the catalog, so a new one is tried
without anybody thinking of it. What a statement did is rolled back.
"""

from functools import cache
from typing import LiteralString

import psycopg
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from psycopg import Connection, sql
from psycopg.rows import TupleRow

from tests.support.logins import LogIn

EXAMPLES = 5 * settings().max_examples
_ROLES = ("fairlead_enqueue", "fairlead_worker", "fairlead_scheduler", "fairlead_admin")
_REFUSED = (
    "22",  # a value is out of bounds, or no value of its type
    "23",  # a constraint of a table, which is named
    "P0001",  # a sentence of ours
    "FL",  # one that programs tell apart
    "54",  # beyond a limit of PostgreSQL's, such as an index entry's length
    "42501",  # not this login's
)
_FUNCTIONS = """
    SELECT p.proname,
           ARRAY(SELECT format_type(a, NULL) FROM unnest(p.proargtypes) a)
    FROM pg_proc p
    WHERE p.pronamespace = 'fairlead'::regnamespace AND p.prorettype <> 'trigger'::regtype
      AND p.pronargs > 0 AND has_function_privilege(p.oid, 'execute')
    ORDER BY p.oid::regprocedure::text
"""
_COLUMNS = """
    SELECT c.relname, a.attname, format_type(a.atttypid, NULL)
    FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid
    WHERE c.relnamespace = 'fairlead'::regnamespace AND c.relkind IN ('r', 'p')
      AND NOT c.relispartition AND a.attnum > 0 AND NOT a.attisdropped
      AND a.attidentity = '' AND a.attgenerated = ''
      AND has_column_privilege(c.oid, a.attnum, 'insert')
    ORDER BY c.relname, a.attnum
"""

_words = st.sampled_from(
    ["", " ", "default", "a/b", "*", "\\", "'", "%s", "😀", "日本", "\x01"]
)
_texts = st.one_of(_words, st.text(st.characters(exclude_characters="\0", codec="utf-8")))
_long = st.integers(100, 20_000).map(lambda length: "x" * length)
_instants = st.one_of(
    st.sampled_from(["infinity", "-infinity", "4713-01-01 BC", "294276-12-31", "epoch", "now"]),
    st.datetimes().map(str),
)
_spans = st.one_of(
    st.sampled_from(["178000000 years", "-178000000 years", "0", "1 us", "1 mon -30 days"]),
    st.timedeltas().map(lambda span: f"{span.total_seconds()} seconds"),
)
_numbers = st.one_of(
    st.sampled_from([0, 1, -1, 2**15, 2**31, 2**62, 2**63 - 1, -(2**63), 2**63]),
    st.integers(-(2**64), 2**64),
    st.integers(-10, 1010),
).map(str)
_floats = st.floats().map(repr)
_documents = st.one_of(
    st.sampled_from(["{}", "[]", "null", "1e131000", "[" * 5000 + "]" * 5000, '"\\u0000"']),
    _texts,
)
_OF_TYPE = {
    "bigint": _numbers,
    "integer": _numbers,
    "smallint": _numbers,
    "boolean": st.sampled_from(["t", "f"]),
    "double precision": _floats,
    "text": st.one_of(_texts, _long),
    "name": _texts,
    "jsonb": _documents,
    "timestamp with time zone": _instants,
    "interval": _spans,
    "oid": _numbers,
}


@cache
def values_of(kind: str) -> st.SearchStrategy[object]:
    """Return values of a type as PostgreSQL reads them, good and bad, null among them."""
    if kind.endswith("[]"):
        return st.one_of(st.none(), st.lists(values_of(kind[:-2]), max_size=5))
    return st.one_of(st.none(), _OF_TYPE.get(kind, _texts))


def refusal(
    connection: Connection[TupleRow], statement: sql.Composed, values: list[object]
) -> str:
    """Return the code of the error by which a statement fails; empty when it does not."""
    try:
        with connection.transaction(force_rollback=True):
            connection.execute(statement, values)
    except psycopg.Error as error:
        return "closed" if connection.closed else error.sqlstate or type(error).__name__
    return ""


@pytest.mark.parametrize("role", _ROLES)
def test_a_function_says_what_is_wrong_with_its_arguments(log_in: LogIn, role: str) -> None:
    """Whatever they are: no internal error, no ended session."""
    connection = log_in(role)
    connection.execute("SET statement_timeout = '5s'")
    functions = connection.execute(_FUNCTIONS).fetchall()

    @settings(
        max_examples=EXAMPLES,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
    )
    @given(st.data())
    def call(data: st.DataObject) -> None:
        name, kinds = data.draw(st.sampled_from(functions))
        given_values = [data.draw(values_of(kind)) for kind in kinds]
        arguments = sql.SQL(", ").join(sql.SQL("%s::" + kind) for kind in kinds)
        called = sql.SQL("SELECT * FROM {}({})").format(
            sql.Identifier("fairlead", name), arguments
        )
        code = refusal(connection, called, given_values)
        assert not code or code.startswith(_REFUSED), (name, given_values, code)

    call()


@pytest.mark.parametrize("role", ["fairlead_enqueue", "fairlead_admin"])
def test_a_column_says_what_is_wrong_with_its_value(log_in: LogIn, role: str) -> None:
    """The same of a row: the triggers and constraints of its table are what speaks."""
    connection = log_in(role)
    connection.execute("SET statement_timeout = '5s'")
    tables: dict[str, list[tuple[str, LiteralString]]] = {}
    for table, column, kind in connection.execute(_COLUMNS).fetchall():
        tables.setdefault(table, []).append((column, kind))

    @settings(
        max_examples=EXAMPLES,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
    )
    @given(st.data())
    def insert(data: st.DataObject) -> None:
        table = data.draw(st.sampled_from(sorted(tables)))
        chosen = data.draw(st.lists(st.sampled_from(tables[table]), min_size=1, unique=True))
        given_values = [data.draw(values_of(kind)) for _, kind in chosen]
        inserted = sql.SQL("INSERT INTO {} ({}) VALUES ({})").format(
            sql.Identifier("fairlead", table),
            sql.SQL(", ").join(sql.Identifier(column) for column, _ in chosen),
            sql.SQL(", ").join(sql.SQL("%s::" + kind) for _, kind in chosen),
        )
        code = refusal(connection, inserted, given_values)
        assert not code or code.startswith(_REFUSED), (table, chosen, given_values, code)

    insert()
