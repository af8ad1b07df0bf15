"""The result that a handler's transaction may store: a JSON value that Python can read."""

import psycopg
import pytest

from tests.support.race import Database, places, run_one


@pytest.mark.parametrize(
    ("result", "sentence"),
    [
        ("to_jsonb(repeat('x', 1048574))", ""),
        (
            "to_jsonb(repeat('x', 60000000))",
            "result is 60,000,002 bytes of JSON, more than 1,048,576",
        ),
        ("(repeat('[', 500) || repeat(']', 500))::jsonb", ""),
        (
            "(repeat('[', 501) || repeat(']', 501))::jsonb",
            "result is nested more than 500 deep",
        ),
        ("to_jsonb(repeat('9', 4000)::numeric)", ""),
        ("'[1e4000]'", "result holds a number of 1e4000 or more"),
        ("'{\"a\": [-1e131071]}'", "result holds a number of 1e4000 or more"),
    ],
)
def test_a_result_is_bounded_as_a_payload_is(db: Database, result: str, sentence: str) -> None:
    """In SQL as in Python, so that no reader fails over it; the job is still the attempt's."""
    lease = run_one(db)
    said = ""
    try:
        db.execute(
            f"SELECT fairlead.complete(%s, %s, {result})".encode(), [lease.job, lease.token]
        )
    except psycopg.errors.CheckViolation as error:
        said = str(error.diag.message_primary)

    assert (f"fairlead: {sentence}" if sentence else "") == said
    assert ("running" if sentence else "succeeded",) == places(db, lease.job)
