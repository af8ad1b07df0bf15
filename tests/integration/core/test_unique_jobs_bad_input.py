"""What `enqueue` refuses is one sentence: the field, its value and the fix."""

import pytest
from psycopg import errors

from tests.support.enqueuing import enqueue
from tests.support.race import Database


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"replace": True, "dedup_key": None}, "dedup_key is null: replace needs the key that"),
        ({"debounce": "1 s", "dedup_key": None}, "dedup_key is null: debounce needs the key"),
        (
            {"unique_for": "1 s", "dedup_key": None},
            "dedup_key is null: unique_for needs the key",
        ),
        ({"debounce": "0 s"}, "debounce is 00:00:00: give 1 ms to 30 days"),
        ({"debounce": "31 days"}, "debounce is 31 days: give 1 ms to 30 days"),
        ({"debounce_max": "1 s"}, "debounce_max is 00:00:01 without a debounce: give both, or"),
        (
            {"debounce": "2 s", "debounce_max": "1 s"},
            "debounce_max is 00:00:01: give 00:00:02, which is debounce, to 365 days",
        ),
        ({"unique_for": "0.5 s"}, "unique_for is 00:00:00.5: give 1 s to 31 days"),
        ({"unique_for": "32 days"}, "unique_for is 32 days: give 1 s to 31 days"),
        (
            {"unique_for": "1 s", "replace": True},
            "unique_for is 00:00:01 beside replace or debounce: a job is kept or replaced, so",
        ),
        (
            {"debounce": "1 s", "run_at": "2100-01-01Z"},
            "beside debounce, which says when the job runs: give one of them",
        ),
    ],
)
def test_what_does_not_go_together_is_one_sentence(
    db: Database, given: dict[str, object], said: str
) -> None:
    """With the field, its value and the fix."""
    with pytest.raises(errors.InvalidParameterValue) as refused:
        enqueue(db, **given)

    assert said in str(refused.value.diag.message_primary)


@pytest.mark.parametrize(
    ("given", "constraint"),
    [
        ({"dedup_key": ""}, "jobs_dedup_key_is_1_to_256_bytes"),
        ({"priority": 2**31 - 1}, "jobs_priority_is_between_minus_100_and_100"),
        ({"queue": ""}, "jobs_queue_is_1_to_128_bytes"),
        ({"payload": f'"{"x" * 1048577}"'}, "jobs_payload_is_at_most_1_mib"),
    ],
)
def test_the_bounds_of_jobs_hold(
    db: Database, given: dict[str, object], constraint: str
) -> None:
    """Also for what replaces another."""
    enqueue(db)

    with pytest.raises(errors.CheckViolation, match=constraint):
        enqueue(db, replace=True, **given)
