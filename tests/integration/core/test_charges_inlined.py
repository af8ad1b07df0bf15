"""What an attempt is charged is computed inside the statement that stores its end."""

import pytest
from psycopg import Connection, sql
from psycopg.rows import TupleRow

from tests.support.functions import atomic_plan, inner_plans

_BODY = "LEAST(GREATEST(COALESCE("
"""How the function's body begins in a plan."""


def expressions(db: Connection[TupleRow], function: str) -> str:
    """Return the plans of a function that ends attempts, with what they compute."""
    options = "VERBOSE, FORMAT JSON"
    return str(inner_plans(db, function, options) or atomic_plan(db, function, options))


@pytest.mark.parametrize("function", ["finish", "_release"])
def test_the_charge_is_no_function_call(db: Connection[TupleRow], function: str) -> None:
    """There is one for each job of a batch."""
    found = expressions(db, function)

    assert _BODY in found
    assert "_charged_us" not in found


@pytest.mark.parametrize("function", ["finish", "_release"])
def test_a_charge_by_the_clock_would_be_one(db: Connection[TupleRow], function: str) -> None:
    """What is volatile is not inlined, and the test above would see it."""
    row = db.execute(
        "SELECT pg_get_functiondef('fairlead._charged_us(bigint, timestamptz)'::regprocedure)"
    ).fetchone()
    assert row is not None
    db.execute(sql.SQL(row[0].replace("statement_timestamp()", "clock_timestamp()")))

    assert "_charged_us(" in expressions(db, function)
