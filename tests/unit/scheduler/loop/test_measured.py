"""What the leader shows of a queue: the last scan's waits beside what it reads now."""

from collections.abc import Mapping

import pytest

from fairlead_scheduler.background.long_reads import QueueGauges, measure_queue
from fairlead_scheduler.rows import LaneRows

SECOND = 1_000_000
NOW_US = 1000 * SECOND
EMPTY = QueueGauges("q", 0, 0, 0, 0, 0, 0, 0, None, NOW_US)
SCANNED = {"q": 3 * SECOND, "other": 900 * SECOND}


@pytest.mark.parametrize(
    ("row", "scanned", "seconds"),
    [
        pytest.param(EMPTY._replace(pending=5), SCANNED, 3.0, id="as old as it was then"),
        pytest.param(EMPTY, SCANNED, 0.0, id="all have gone since"),
        pytest.param(EMPTY._replace(pending=5), {}, 0.0, id="the first came since"),
        pytest.param(
            EMPTY._replace(pending=5, queued=1, oldest_us=NOW_US - 7 * SECOND),
            SCANNED,
            7.0,
            id="a queued one is older",
        ),
        pytest.param(
            EMPTY._replace(pending=5, queued=1, oldest_us=NOW_US - SECOND),
            SCANNED,
            3.0,
            id="a queued one is younger",
        ),
        pytest.param(
            EMPTY._replace(queued=1, oldest_us=NOW_US + SECOND), {}, 0.0, id="a clock went back"
        ),
    ],
)
def test_what_waits_is_no_older_than_it_was_seen_to_be(
    row: QueueGauges, scanned: Mapping[str, int], seconds: float
) -> None:
    """However long ago the scan was: what it found may run, and others wait."""
    assert seconds == measure_queue(row, scanned).oldest_seconds


def test_a_scan_says_how_long_the_oldest_of_each_queue_has_waited() -> None:
    """By the database's clock at that time; a due time that is yet to come is no wait."""
    since_us = [NOW_US - SECOND, NOW_US - 2 * SECOND, NOW_US + SECOND]
    ids = [1, 2, 3]
    lanes = LaneRows(
        NOW_US, ids, ids, ["q", "q", "r"], ["a", "b", ""], [0] * 3, since_us, ids, ids
    )

    assert {"q": 2 * SECOND, "r": 0} == lanes.waits_us()


def test_a_scan_that_finds_nothing_has_no_waits() -> None:
    """The database answers with nulls."""
    assert {} == LaneRows(NOW_US, None, [], [], [], [], [], [], []).waits_us()
