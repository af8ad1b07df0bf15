"""How long a job waits after a failed attempt: exponential, with full jitter."""

import pytest
from psycopg import Connection
from psycopg.rows import TupleRow

_WAITS = """
SELECT min(wait), max(wait) FROM (
    SELECT extract(epoch FROM fairlead._backoff(%s))::float8 AS wait
    FROM generate_series(1, 1000)
) waits
"""


@pytest.mark.parametrize(
    ("failures", "seconds_max"),
    [(-1, 1), (0, 1), (1, 2), (5, 32), (11, 2048), (12, 3600), (40, 3600)],
)
def test_the_backoff_is_any_time_up_to_a_power_of_two_and_an_hour_at_most(
    db: Connection[TupleRow], failures: int, seconds_max: int
) -> None:
    """A thousand of them spread over the whole of it."""
    row = db.execute(_WAITS, [failures]).fetchone()

    assert row is not None
    lowest, highest = row
    assert 0 <= lowest < 0.1 * seconds_max
    assert 0.9 * seconds_max < highest <= seconds_max
