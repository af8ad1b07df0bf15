"""The tail of new jobs: holes are probed until no transaction can fill them."""

import pytest

from fairlead_scheduler.pending.tail import Probe, Tail
from fairlead_scheduler.pending.values import TailSettings

MS = 1000
NOTHING = Probe((), (), ())


def probe(tail: Tail, now_us: int, *found: int, xmin: int) -> Probe:
    """Probe what is due and tell what was found; return what was probed."""
    due = tail.next_probe(now_us)
    tail.probed(due, found, xmin, now_us)
    return due


def test_ids_without_a_gap_leave_no_hole() -> None:
    """The usual case costs nothing."""
    tail = Tail(10, 0)
    tail.read([11, 12, 13], 100, 0)

    assert (13, 0, NOTHING) == (tail.last_id, tail.holes, tail.next_probe(1_000_000))


def test_a_gap_is_probed() -> None:
    """Ids commit out of order; remember holes and re-probe them."""
    tail = Tail(10, 0)
    tail.read([13, 14, 16], 100, 0)

    assert Probe((11, 15), (12, 15), ()) == tail.next_probe(10 * MS)


def test_a_hole_stays_while_a_transaction_could_fill_it() -> None:
    """Until no transaction is left that was open when it was noticed."""
    tail = Tail(10, 0)
    tail.read([12], 100, 0)

    probe(tail, 10 * MS, xmin=99)
    still = tail.holes
    probe(tail, 30 * MS, xmin=100)

    assert (1, 0) == (still, tail.holes)


def test_what_fills_is_watched_no_longer() -> None:
    """Found ids leave the hole; what lies between them stays."""
    tail = Tail(10, 0)
    tail.read([20], 100, 0)
    probe(tail, 10 * MS, 11, 13, 14, 19, xmin=50)

    assert Probe((12, 15), (12, 18), ()) == tail.next_probe(30 * MS)


def test_intervals_grow() -> None:
    """Probed with growing intervals, up to the promised tenth of a second."""
    tail = Tail(10, 0)
    tail.read([12], 100, 0)
    times = [now for now in range(0, 400 * MS, MS) if probe(tail, now, xmin=1) != NOTHING]

    assert [10, 30, 70, 150, 250, 350] == [now // MS for now in times]


def test_a_probe_that_was_cut_short_is_due_again_at_once() -> None:
    """Bounded per probe; a full batch means again."""
    tail = Tail(10, 0)
    tail.read([20], 100, 0)
    probe(tail, 10 * MS, 11, 12, xmin=0)

    assert Probe((13,), (19,), ()) == tail.next_probe(10 * MS)


def test_a_probe_has_a_bound_and_the_longest_overdue_go_first() -> None:
    """Everything swept is bounded."""
    tail = Tail(0, 0)
    tail.read([2, 4], 100, 5)
    tail.read([6, 8], 100, 0)

    assert ((5, 7), (1, 3)) == (
        tail.next_probe(10**6, ranges_max=2).lows,
        tail.next_probe(10**6, ranges_max=2).lows,
    )


def test_too_many_holes_drop_the_oldest_and_are_counted() -> None:
    """Bounded; beyond it the sweep finds the row."""
    tail = Tail(0, 0, TailSettings(ranges_max=10))
    tail.read(list(range(2, 62, 2)), 100, 0)

    assert (10, 20) == (tail.holes, tail.dropped)
    assert 41 == tail.next_probe(10**6).lows[0]


def test_what_is_dropped_is_left_to_scans_until_one_has_seen_all_that_may_fill_it() -> None:
    """Each scan until then may have come before the commit."""
    tail = Tail(0, 0, TailSettings(ranges_max=10))
    assert not tail.take_unwatched([99])
    tail.read(list(range(2, 62, 2)), 100, 0)

    assert [True, True, False] == [tail.take_unwatched(left) for left in ([99], [], [])]


def test_a_flood_that_is_skipped_is_left_to_scans_in_the_same_way() -> None:
    """It has holes too, which nobody has seen."""
    tail = Tail(0, 0)
    tail.skip(10_000, 100, 0)

    assert [True, True, False] == [tail.take_unwatched(left) for left in ([99], [], [])]


def test_a_doubtful_id_too_many_is_left_to_the_next_scan() -> None:
    """It is committed: that scan sees it."""
    tail = Tail(0, 0, TailSettings(doubtful_max=1))
    tail.doubt([7, 8], 0)

    assert [1, True, False] == [tail.dropped, *(tail.take_unwatched(()) for _ in range(2))]


def test_a_doubtful_id_too_many_is_left_to_a_scan_that_began_after_it() -> None:
    """One that began before may have missed it."""
    tail = Tail(0, 0, TailSettings(doubtful_max=1))
    tail.observe(100)
    tail.doubt([7, 8], 0)

    assert [True, True, False] == [tail.take_unwatched(left) for left in ([99], [], [])]


def test_a_transaction_that_stays_open_hides_no_other_and_has_nothing_read_again() -> None:
    """It may have been abandoned; the next scan after the end of any other reads all again."""
    tail = Tail(0, 0)
    tail.leave_to_scans(100)
    held_back = [tail.take_unwatched([50, 70]) for _ in range(20)]

    assert [True, *[False] * 19] == held_back
    assert [True, False] == [tail.take_unwatched([50, 100]) for _ in range(2)]

    tail.leave_to_scans(120)
    assert [True, False] == [tail.take_unwatched([50]) for _ in range(2)]
    # It may be of one that has ended since then, or that began after what was observed last.
    tail.leave_to_scans(120)
    assert [True, False] == [tail.take_unwatched([50]) for _ in range(2)]
    tail.leave_to_scans(90)
    assert [True, False] == [tail.take_unwatched([50]) for _ in range(2)]
    assert [True, False] == [tail.take_unwatched([130]) for _ in range(2)]


def test_a_doubtful_id_is_probed_until_it_is_known() -> None:
    """Refused by dispatch because locked: asked about again."""
    tail = Tail(10, 0)
    tail.doubt([7], 0)
    early = tail.next_probe(9 * MS)
    due = probe(tail, 10 * MS, 7, xmin=1)

    assert (NOTHING, (7,), NOTHING) == (early, due.ids, tail.next_probe(10**9))


def test_a_doubtful_id_that_is_gone_is_forgotten() -> None:
    """Its return, if any, is announced otherwise."""
    tail = Tail(10, 0)
    tail.doubt([7], 0)
    probe(tail, 10 * MS, xmin=1)

    assert NOTHING == tail.next_probe(10**9)


def test_a_locked_id_stays_doubtful_and_is_asked_about_less_and_less() -> None:
    """It is no head while a session locks it: a plan would take it and be refused."""
    tail = Tail(10, 0)
    tail.doubt([7], 0)
    asked: list[int] = []
    begun: list[int] = []
    for now_us in range(0, 4000 * MS, MS):
        due = tail.next_probe(now_us)
        if due.ids:
            asked.append(now_us // MS)
            begun += tail.probed(due, [], 1, now_us, locked=[7])
        assert 7 in tail.doubtful

    assert [10, 30, 70, 150, 310, 630, 1270, 2270, 3270] == asked
    assert [7] == begun


def test_an_id_that_is_locked_no_longer_is_found() -> None:
    """Found or gone: it is doubtful no longer, and a new doubt begins anew."""
    tail = Tail(10, 0)
    tail.doubt([7, 8], 0)
    tail.probed(tail.next_probe(10 * MS), [], 1, 10 * MS, locked=[7, 8])
    tail.probed(tail.next_probe(30 * MS), [7], 1, 30 * MS)
    assert not tail.doubtful

    tail.doubt([7], 30 * MS)

    assert (7,) == tail.next_probe(40 * MS).ids


def test_many_locked_ids_are_asked_about_at_a_bounded_rate() -> None:
    """A transaction may lock a hundred thousand, for hours."""
    tail = Tail(0, 0)
    tail.doubt(range(1, 20_001), 0)
    asked = 0
    for now_us in range(0, 20_000 * MS, 20 * MS):
        due = tail.next_probe(now_us)
        tail.probed(due, [], 1, now_us, locked=due.ids)
        asked += len(due.ids) if now_us >= 10_000 * MS else 0

    assert 20_000 == len(tail.doubtful)
    assert asked / 10 <= 12_000


def test_an_id_that_is_doubted_again_and_again_is_asked_for_less_and_less() -> None:
    """Whatever it is that refuses it must not cost a dispatch per tick."""
    tail = Tail(10, 0)
    now_us, gaps = 0, list[int]()
    for _ in range(9):
        tail.doubt([7], now_us)
        asked_us = next(
            t for t in range(now_us, now_us + 2000 * MS, MS) if tail.next_probe(t).ids
        )
        gaps.append((asked_us - now_us) // MS)
        now_us = asked_us
        tail.probed(Probe((), (), (7,)), [7], 1, now_us)

    assert [10, 20, 40, 80, 160, 320, 640, 1000, 1000] == gaps


def test_a_lost_probe_is_repeated() -> None:
    """A look that failed costs nothing: what it asked for falls due again."""
    tail = Tail(10, 0)
    tail.read([12], 100, 0)
    tail.doubt([7], 0)
    tail.next_probe(10 * MS)

    assert Probe((11,), (11,), (7,)) == tail.next_probe(10**6)


@pytest.mark.parametrize(
    ("job_id", "seen_us"), [(10, None), (11, 500), (12, 500), (13, 900), (15, 700), (20, 900)]
)
def test_seen_is_when_the_leader_first_saw_the_id(job_id: int, seen_us: int | None) -> None:
    """It is now in a hole and ahead of the tail; before this leader it is unknown."""
    tail = Tail(10, 0)
    tail.read([11, 12], 100, 500)
    tail.read([14, 15], 100, 700)

    assert seen_us == tail.seen_us(job_id, 900)


def test_marks_are_thinned() -> None:
    """A compact list of marks: bounded, and never looking earlier than it was."""
    tail = Tail(0, 0, TailSettings(marks_max=64))
    for number in range(1, 10_001):
        tail.read([number], 100, number)

    seen = [tail.seen_us(number, 10**6) or 0 for number in range(1, 10_001)]
    assert all(at >= number for number, at in enumerate(seen, 1))
    assert seen[-1] == 10_000
    assert len(set(seen)) <= 64
