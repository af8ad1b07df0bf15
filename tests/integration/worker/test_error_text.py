"""What is said of an error that arose inside a function."""

import psycopg
import pytest
from psycopg import Connection
from psycopg.rows import TupleRow

from fairlead.db.error_text import one_line
from tests.support import race


def test_an_error_is_told_without_the_text_of_the_function(db: Connection[TupleRow]) -> None:
    """A job's error and a log line are for people."""
    race.run_one(db)
    broken = "SELECT fairlead.finish(array_agg(job_id), array_agg(token), ARRAY['gone'])"

    with pytest.raises(psycopg.errors.CheckViolation) as raised:
        db.execute(f"{broken} FROM fairlead.work_queue".encode())

    assert "PL/pgSQL function" in str(raised.value)
    told = one_line(raised.value)
    assert told.startswith("no partition of relation")
    assert "PL/pgSQL" not in told
    assert "with lock_wait" not in told
