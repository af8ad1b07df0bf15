"""How long a job waits after a failed attempt."""

import pytest
from psycopg import Connection
from psycopg.rows import TupleRow

_WAITS = """
SELECT min(wait), max(wait) FROM (
    SELECT extract(epoch FROM fairlead._backoff(%s))::float8 AS wait
    FROM generate_series(1, 1000)
) waits
"""
_TOTAL = """
SELECT sum(extract(epoch FROM fairlead._backoff(n)))::float8 / 3600
FROM generate_series(0, 18) n, generate_series(1, 100) time
"""


@pytest.mark.parametrize(
    ("failures", "seconds"),
    [(-1, 2), (0, 2), (1, 4), (5, 64), (13, 16384), (14, 28800), (40, 28800)],
)
def test_the_backoff_is_about_a_power_of_two_and_eight_hours_at_most(
    db: Connection[TupleRow], failures: int, seconds: int
) -> None:
    """A thousand of them spread from half of it to one and a half."""
    row = db.execute(_WAITS, [failures]).fetchone()

    assert row is not None
    lowest, highest = row
    assert 0.5 * seconds <= lowest < 0.6 * seconds
    assert 1.4 * seconds < highest <= 1.5 * seconds


def test_twenty_attempts_take_two_days(db: Connection[TupleRow]) -> None:
    """An outage of a night or a day does not fail a job."""
    row = db.execute(_TOTAL).fetchone()

    assert row is not None
    assert 46 < row[0] / 100 < 52
