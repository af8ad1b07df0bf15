"""Prefetched heads: every pending job is offered once, whichever read finds it first."""

from fairlead_scheduler.pending.cursors import SKIPPED_MAX, LaneHeads
from fairlead_scheduler.pending.heads import Heads
from fairlead_scheduler.pending.values import (
    Head,
    HeadRequest,
    HeadsSettings,
    PendingJob,
    Stream,
)

A: Stream = ("q", "a", 0)


def found(seq: int, *, job_id: int = 0, rank: int = 0) -> PendingJob:
    """Return a job of lane a whose id is its seq unless said otherwise."""
    return PendingJob(job_id or seq, seq, "q", "a", rank, None, None)


def read(*seqs: int) -> list[Head]:
    """Return what a refill would read."""
    return [Head(seq, seq, None, None) for seq in seqs]


def scanned(settings: HeadsSettings | None = None) -> Heads:
    """Return heads whose first scan is behind them."""
    heads = Heads(settings)
    heads.record_scan()
    return heads


def take(heads: Heads, lane: LaneHeads) -> int:
    """Take one head, as a plan does, and return its id."""
    job_id, *_ = lane.ready.popleft()
    heads.taken(1)
    if len(lane.ready) <= lane.refill_at:
        heads.ran_low(lane)
    return job_id


def offered(heads: Heads) -> list[int]:
    """Take all that is at hand, lane by lane, and return the ids."""
    ids: list[int] = []
    for lane in heads.take_changed():
        while lane.ready:
            ids.append(take(heads, lane))
    return ids


def test_before_the_first_scan_a_stream_has_to_be_read() -> None:
    """Before the scan there may be older rows that no read has found."""
    heads = Heads()
    heads.discovered([found(10)])

    assert [] == offered(heads)
    assert (HeadRequest(A, 0, 64),) == heads.next_requests(10)


def test_after_the_first_scan_a_new_tenants_row_is_a_head_at_once() -> None:
    """When the stream is known to its end, the tail's row is a head directly."""
    heads = scanned()
    heads.discovered([found(10), found(11)])

    assert () == heads.next_requests(10)
    assert [10, 11] == offered(heads)


def test_a_want_is_repeated_until_it_is_answered() -> None:
    """A look that failed costs nothing."""
    heads = Heads()
    heads.scanned_first([found(3)])

    assert heads.next_requests(10) == heads.next_requests(10)


def test_a_refill_moves_the_cursor() -> None:
    """The next read begins behind what has been read."""
    heads = Heads(HeadsSettings(first=2, lowest=1))
    heads.scanned_first([found(3)])
    (want,) = heads.next_requests(10)
    heads.filled(A, read(3, 5), want.limit)
    ids = offered(heads)

    (again,) = heads.next_requests(10)

    assert ([3, 5], 5) == (ids, again.after_seq)


def test_a_short_refill_is_the_streams_end() -> None:
    """Exhausted: the last refill came back short and nothing newer was seen."""
    heads = Heads()
    heads.scanned_first([found(3)])
    (want,) = heads.next_requests(10)
    heads.filled(A, read(3), want.limit)

    assert () == heads.next_requests(10)
    assert [3] == offered(heads)


def test_an_answer_may_come_twice() -> None:
    """A repeat changes nothing."""
    heads = Heads()
    heads.scanned_first([found(3)])
    (want,) = heads.next_requests(10)
    heads.filled(A, read(3), want.limit)
    heads.filled(A, read(3), want.limit)

    assert [3] == offered(heads)


def test_a_row_that_a_refill_brought_is_not_taken_from_the_tail_again() -> None:
    """A row arrives once, whichever source is first."""
    heads = Heads()
    heads.scanned_first([found(3)])
    (want,) = heads.next_requests(10)
    heads.filled(A, read(3, 7), want.limit)
    heads.record_scan()

    heads.discovered([found(3), found(7), found(8)])

    assert [3, 7, 8] == offered(heads)


def test_a_row_that_is_done_is_not_taken_from_the_tail_again() -> None:
    """The tail may be behind the refills, and the row may have left `jobs`."""
    heads = Heads()
    heads.scanned_first([found(3)])
    (want,) = heads.next_requests(10)
    heads.filled(A, read(3), want.limit)
    offered(heads)

    heads.discovered([found(3)])

    assert [] == offered(heads)


def test_a_row_that_shows_after_a_want_survives_its_older_answer() -> None:
    """The answer may have been read before the row was committed."""
    heads = Heads()
    heads.scanned_first([found(3)])
    (want,) = heads.next_requests(10)
    heads.discovered([found(9)])
    heads.filled(A, read(3), want.limit)

    assert (3,) == tuple(want.after_seq for want in heads.next_requests(10))


def test_a_row_that_vanished_is_not_waited_for() -> None:
    """A job that is cancelled between the tail and the refill ends the stream all the same."""
    heads = Heads()
    heads.discovered([found(9)])
    (want,) = heads.next_requests(10)
    heads.filled(A, [], want.limit)

    assert () == heads.next_requests(10)


def test_a_late_row_enters_in_the_order_of_seq() -> None:
    """Found late: into the heads in seq order; a cursor never moves back."""
    heads = scanned()
    heads.discovered([found(10), found(12)])

    heads.missed([found(11)])

    assert [10, 11, 12] == offered(heads)


def test_a_late_row_enters_once() -> None:
    """Never duplicates of heads."""
    heads = scanned()
    heads.discovered([found(10), found(12)])
    heads.missed([found(11)])
    heads.missed([found(11), found(10)])

    assert [10, 11, 12] == offered(heads)


def test_a_job_that_takes_anothers_place_is_no_duplicate_of_it() -> None:
    """What was replaced stays a head until its dispatch is refused."""
    heads = scanned()
    heads.discovered([found(10), found(12)])

    heads.discovered([found(10, job_id=13)])
    heads.missed([found(10, job_id=13)])

    assert [10, 13, 12] == offered(heads)


def test_a_late_row_that_is_in_flight_is_left_out() -> None:
    """Ids that are in flight are never offered again."""
    heads = Heads(in_flight={10})
    heads.record_scan()
    heads.discovered([found(12)])
    heads.missed([found(10)])

    assert [12] == offered(heads)


def test_a_late_row_below_the_cursor_comes_from_the_tail_too() -> None:
    """Ids and places are drawn apart, so a new id may have an older place."""
    heads = scanned()
    heads.discovered([found(12)])
    heads.discovered([found(11, job_id=13)])

    assert [13, 12] == offered(heads)


def test_a_promoted_row_is_left_to_the_refill() -> None:
    """Its place is new, and others may have been committed before it."""
    heads = scanned()
    heads.discovered([found(10)])
    heads.missed([found(20)])

    assert (HeadRequest(A, 10, 64),) == tuple(
        want._replace(limit=64) for want in heads.next_requests(10)
    )
    assert [10] == offered(heads)


def test_a_late_batch_that_the_sweep_shows_is_read_once_from_there() -> None:
    """The sweep shows one row per stream; what was committed with it lies behind it."""
    heads = scanned(HeadsSettings(first=4, lowest=4, per_stream_max=4))
    heads.discovered([found(10), found(20)])
    heads.scanned_first([found(5)])
    ids: list[int] = []
    for batch in (read(5, 6, 7, 8), read(9, 10, 15, 20), read(21)):
        ids += offered(heads)
        (want,) = heads.next_requests(10)
        heads.filled(A, [head for head in batch if head.seq > want.after_seq], want.limit)
    ids += offered(heads)

    assert [10, 20, 5, 6, 7, 8, 9, 10, 15, 20, 21] == ids
    assert () == heads.next_requests(10)


def test_the_sweeps_row_that_is_the_first_head_is_no_news() -> None:
    """The sweep adds what was missed, and nothing else."""
    heads = scanned()
    heads.discovered([found(10), found(20)])
    heads.scanned_first([found(10)])

    assert () == heads.next_requests(10)


def test_a_flood_of_late_rows_is_read_in_portions() -> None:
    """More than a stream may hold is left in the database until there is room."""
    heads = scanned(HeadsSettings(per_stream_max=10))
    heads.discovered([found(1000)])
    heads.missed([found(seq) for seq in range(1, 100)])

    assert [1000] == offered(heads)
    assert (0,) == tuple(want.after_seq for want in heads.next_requests(10))


def test_lower_priority_waits_while_higher_has_to_be_read() -> None:
    """Otherwise each refill would let a few jobs of lower priority through."""
    heads = Heads()
    heads.scanned_first([found(1, rank=5), found(2, rank=-5)])
    low, high = ("q", "a", 5), ("q", "a", -5)
    heads.next_requests(10)
    heads.filled(low, read(1), 64)
    waiting = offered(heads)
    heads.filled(high, read(2), 64)

    assert ([], [2, 1]) == (waiting, offered(heads))


def test_a_lane_that_drains_fast_gets_more_heads() -> None:
    """Adaptive: it doubles when it ran dry between two ticks."""
    heads = Heads(HeadsSettings(first=4, lowest=4))
    heads.scanned_first([found(1)])
    limits: list[int] = []
    seq = 0
    for _ in range(4):
        (want,) = heads.next_requests(10)
        limits.append(want.limit)
        heads.filled(A, read(*range(seq + 1, seq + want.limit + 1)), want.limit)
        seq += want.limit
        offered(heads)

    assert [4, 8, 16, 32] == limits


def test_a_lane_that_drains_slowly_gets_fewer_heads() -> None:
    """It shrinks towards what is taken in a few ticks, so that the budget serves many lanes."""
    heads = Heads(HeadsSettings(first=64, lowest=4))
    heads.scanned_first([found(1)])
    lanes: list[LaneHeads] = []
    seq = 0
    held = 0
    for _ in range(2000):
        for want in heads.next_requests(10):
            heads.filled(A, read(*range(seq + 1, seq + want.limit + 1)), want.limit)
            seq += want.limit
        lanes = heads.take_changed() or lanes
        take(heads, lanes[0])
        held = heads.total

    assert held <= 32


def test_a_lane_is_left_alone_while_the_budget_is_spent() -> None:
    """Ten thousand that run low, looked at in every tick, would cost more than the dispatch."""
    heads = Heads(HeadsSettings(first=10, lowest=2, budget=31))
    heads.scanned_first(
        [PendingJob(n, n, "q", name, 0, None, None) for n, name in ((1, "a"), (2, "b"))]
    )
    heads.scanned_first([PendingJob(100, 100, "q", "c", 0, None, None)])
    for want in heads.next_requests(10):
        heads.filled(want.stream, read(*range(100, 100 + want.limit)), want.limit)
    *low, full = heads.take_changed()
    for lane in (*low, *low, *low, *low, *low):
        take(heads, lane)
    heads.missed([PendingJob(n, n, "q", "c", 0, None, None) for n in range(14)])
    assert 30 == heads.total

    for _ in range(100):
        assert [1] == [want.limit for want in heads.next_requests(10)]
    while full.ready:
        take(heads, full)

    assert {"a", "b"} <= {want.stream[1] for want in heads.next_requests(10)}


def test_streams_that_ran_dry_are_read_first() -> None:
    """Ordered by need."""
    heads = Heads(HeadsSettings(first=4, lowest=4))
    heads.scanned_first([found(1), PendingJob(2, 2, "q", "b", 0, None, None)])
    heads.next_requests(10)
    heads.filled(A, read(1, 2, 3, 4), 4)
    lane = heads.take_changed()[0]
    take(heads, lane)
    take(heads, lane)

    assert [("q", "b", 0), A] == [want.stream for want in heads.next_requests(10)]
    assert [("q", "b", 0)] == [want.stream for want in heads.next_requests(1)]


def test_the_budget_bounds_the_heads_of_all_lanes() -> None:
    """A total budget, so that ten thousand lanes fit."""
    heads = Heads(HeadsSettings(first=64, lowest=20, budget=1000))
    heads.scanned_first([PendingJob(n, n, "q", f"t{n}", 0, None, None) for n in range(1, 101)])
    for want in heads.next_requests(1000):
        heads.filled(want.stream, read(*range(1, want.limit + 1)), want.limit)

    assert 1000 == heads.total


def test_what_is_put_back_is_offered_again_in_its_place() -> None:
    """Recalled ids go straight back to the heads."""
    heads = scanned()
    heads.discovered([found(1), found(2)])
    offered(heads)

    heads.put_back(A, Head(2, 2, None, None))
    heads.put_back(A, Head(1, 1, None, None))
    heads.put_back(A, Head(1, 1, None, None))

    assert [1, 2] == offered(heads)


def test_a_watched_lane_changes_with_the_next_head() -> None:
    """Every head at hand is held: one that comes to them may go."""
    heads = scanned()
    heads.discovered([found(1), found(2)])
    (lane,) = heads.take_changed()
    heads.discovered([found(3)])
    assert [] == heads.take_changed()
    heads.watch(lane, None)

    heads.discovered([found(4)])

    assert [lane] == heads.take_changed()
    heads.discovered([found(5)])
    assert [] == heads.take_changed()


def test_a_watched_stream_is_read_on_until_as_many_are_at_hand_as_may_be_passed_over() -> None:
    """Held heads are passed over, up to 64: those behind them have to be at hand."""
    heads = Heads(HeadsSettings(first=4, lowest=4))
    heads.discovered([found(1)])
    (want,) = heads.next_requests(10)
    heads.filled(A, read(1, 2, 3, 4), want.limit)
    (lane,) = heads.take_changed()
    assert () == heads.next_requests(10)

    heads.watch(lane, lane.streams[0])

    assert (HeadRequest(A, 4, SKIPPED_MAX - 4),) == heads.next_requests(10)
    heads.filled(A, read(5), SKIPPED_MAX - 4)
    assert [lane] == heads.take_changed()
    assert () == heads.next_requests(10)
