"""Lanes that a scan has read again: a head that stays hides nothing behind it."""

from tests.unit.scheduler.pending.test_heads import A, found, read, scanned


def test_rows_behind_a_head_that_stays_are_found_by_reading_again() -> None:
    """A blocked head is the first of its lane in each scan, whatever was committed late."""
    heads = scanned()
    heads.discovered([found(10), found(20)])
    (lane,) = heads.take_changed()
    lane.ready.pop()  # 20 is dispatched, 10 stays
    heads.taken(1)
    heads.scanned_first([found(10)])
    assert () == heads.next_requests(10)

    heads.scanned_first([found(10)], again=True)
    (want,) = heads.next_requests(10)
    heads.filled(A, read(10, 15), want.limit)

    assert (9, [10, 15]) == (want.after_seq, [head[0] for head in lane.ready])
    assert () == heads.next_requests(10)


def test_a_lane_of_one_job_is_not_read_again() -> None:
    """Nothing is between it and the cursor: a hundred thousand such lanes cost nothing."""
    heads = scanned()
    heads.discovered([found(10)])

    heads.scanned_first([found(10)], again=True)

    assert () == heads.next_requests(10)
