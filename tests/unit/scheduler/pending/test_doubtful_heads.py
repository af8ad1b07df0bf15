"""Heads that are asked about before they are offered again: somebody may have locked them."""

from fairlead_scheduler.pending.heads import Heads
from tests.unit.scheduler.pending.test_heads import A, found, offered, read, scanned


def test_what_is_asked_about_is_offered_by_no_other_read() -> None:
    """Neither by a scan, of which it is the first, nor by a read of what lies behind it."""
    heads = Heads(doubtful={10, 11})
    heads.record_scan()
    heads.discovered([found(20)])
    heads.scanned_first([found(10)])
    assert () == heads.next_requests(10)

    heads.scanned_first([found(10)], again=True)
    (want,) = heads.next_requests(10)
    heads.filled(A, read(10, 11, 15, 20), want.limit)

    assert [15, 20] == offered(heads)


def test_heads_behind_locked_ones_are_withheld_but_for_the_last() -> None:
    """They are asked about first, and come back in their order; the lane keeps its turn."""
    doubtful = set[int]()
    heads = Heads(doubtful=doubtful)
    heads.record_scan()
    heads.discovered([found(seq) for seq in range(1, 6)])

    doubtful.update(heads.withhold(A, 2))
    assert ({1, 2}, 3) == (doubtful, heads.total)
    doubtful.update(heads.withhold(A, 100))
    assert ({1, 2, 3, 4}, 1) == (doubtful, heads.total)
    assert [] == heads.withhold(A, 100)
    doubtful.difference_update({2, 4})
    heads.missed([found(4), found(2)])

    assert [2, 4, 5] == offered(heads)


def test_heads_whose_attributes_are_read_are_not_withheld() -> None:
    """Keys keep what was read of each head until it goes."""
    heads = scanned()
    heads.discovered([found(seq) for seq in range(1, 6)])
    (lane,) = heads.take_changed()
    lane.wants_changes = True

    assert [] == heads.withhold(A, 2)
