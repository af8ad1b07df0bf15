"""Scans begin where nothing can lie behind them, and now and then at the very beginning."""

from fairlead_scheduler.pending.watermarks import LowWatermark, ReceiptWatermark

SECOND_US = 1_000_000
BEGIN_US = 1_000 * SECOND_US


def begun() -> ReceiptWatermark:
    """Return the mark of a leader that has taken receipts up to 6, a while ago."""
    mark = ReceiptWatermark()
    mark.next_after(BEGIN_US - 10 * SECOND_US)
    mark.record_taken([6], BEGIN_US - 10 * SECOND_US)
    return mark


def test_what_was_uncommitted_when_a_leader_began_is_found() -> None:
    """For five seconds a new leader reads from well below the first receipt that it took."""
    mark = ReceiptWatermark()
    mark.next_after(BEGIN_US)
    mark.record_taken([3000], BEGIN_US)
    soon = mark.next_after(BEGIN_US + 4 * SECOND_US)
    mark.record_taken([3001], BEGIN_US + 5 * SECOND_US)

    assert (999, 3001) == (soon, mark.next_after(BEGIN_US + 5 * SECOND_US))


def test_receipts_without_gaps_are_never_scanned_again() -> None:
    """The mark follows what has been taken."""
    mark = begun()
    mark.record_taken([7, 8, 9], BEGIN_US)

    assert 9 == mark.next_after(BEGIN_US)


def test_a_gap_is_waited_for_and_filled() -> None:
    """A receipt that is committed after its successors is found."""
    mark = begun()
    mark.record_taken([7, 9, 10], BEGIN_US)
    before = mark.next_after(BEGIN_US)
    mark.record_taken([8], BEGIN_US + 1)

    assert (7, 10) == (before, mark.next_after(BEGIN_US + 1))


def test_a_gap_that_does_not_fill_is_given_up_after_five_seconds() -> None:
    """A batch that was rolled back does not keep the mark where it is."""
    mark = begun()
    mark.record_taken([7], BEGIN_US)
    mark.record_taken([9], BEGIN_US)
    mark.record_taken([], BEGIN_US + 4 * SECOND_US)
    waiting = mark.next_after(BEGIN_US + 4 * SECOND_US)
    mark.record_taken([10], BEGIN_US + 6 * SECOND_US)

    assert (7, 10) == (waiting, mark.next_after(BEGIN_US + 6 * SECOND_US))


def test_everything_is_scanned_at_the_start_and_every_thirty_seconds() -> None:
    """What was committed very late is found by the full pass."""
    mark = ReceiptWatermark()
    first = mark.next_after(BEGIN_US)
    mark.record_taken([7], BEGIN_US)
    mark.record_taken([8], BEGIN_US + 5 * SECOND_US)
    later = mark.next_after(BEGIN_US + 29 * SECOND_US)

    assert (0, 8, 0) == (first, later, mark.next_after(BEGIN_US + 30 * SECOND_US))


def test_a_time_scan_trails_the_last_look_by_two_seconds() -> None:
    """Rows become visible a little after the instant that they carry."""
    mark = LowWatermark()
    first = mark.begin()
    mark.record_scan(first, BEGIN_US)

    assert (0, BEGIN_US - 2 * SECOND_US) == (first, mark.begin())


def test_a_full_batch_goes_on_where_it_ended() -> None:
    """A scan that stopped early does not walk again over what it has done."""
    mark = LowWatermark()
    mark.record_scan(mark.begin(), BEGIN_US)
    mark.record_scan(mark.begin(), BEGIN_US + 1, reached_us=BEGIN_US - SECOND_US)

    assert BEGIN_US - SECOND_US == mark.begin()


def test_a_full_pass_that_stopped_early_is_repeated_from_the_beginning() -> None:
    """A full pass counts when it has reached the end."""
    mark = LowWatermark()
    mark.record_scan(mark.begin(), BEGIN_US, reached_us=5)

    assert 0 == mark.begin()


def test_a_row_below_the_mark_lowers_it() -> None:
    """A job that was due before it was committed is scanned for at once."""
    mark = LowWatermark()
    mark.record_scan(mark.begin(), BEGIN_US)
    mark.lower(BEGIN_US - 60 * SECOND_US)
    mark.lower(BEGIN_US)

    assert BEGIN_US - 60 * SECOND_US == mark.begin()
