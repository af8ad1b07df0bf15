"""A new leader reads what its predecessor dispatched and does not offer it again."""

from fairlead_scheduler.pending.heads import Heads
from fairlead_scheduler.pending.values import (
    Head,
    HeadRequest,
    HeadsSettings,
    PendingJob,
    Stream,
)

A: Stream = ("q", "a", 0)


def found(seq: int) -> PendingJob:
    """Return a job of lane a whose id is its seq."""
    return PendingJob(seq, seq, "q", "a", 0, None, None)


def read(*seqs: int) -> list[Head]:
    """Return what a refill would read."""
    return [Head(seq, seq, None, None) for seq in seqs]


def offered(heads: Heads) -> list[int]:
    """Return the ids of all that is at hand."""
    return [head[0] for lane in heads.take_changed() for head in lane.ready]


def test_what_a_former_leader_dispatched_is_no_head_of_the_next() -> None:
    """A refill also reads jobs in flight: offered as heads they would be refused once ended."""
    in_flight = {3, 5}
    heads = Heads(in_flight=in_flight)
    heads.scanned_first([found(9)])
    (want,) = heads.next_requests(10)
    heads.filled(A, read(3, 5, 9), want.limit)
    in_flight.clear()

    assert [9] == offered(heads)


def test_what_a_former_leader_dispatched_is_no_head_from_the_tail() -> None:
    """The first read of the tail finds rows that are older than the leader."""
    in_flight = {3}
    heads = Heads(in_flight=in_flight)
    heads.record_scan()
    heads.discovered([found(3), found(9)])
    in_flight.clear()

    assert [9] == offered(heads)


def test_more_is_read_at_once_where_much_is_in_flight() -> None:
    """A new leader passes over what is in flight as fast as it would take heads."""
    heads = Heads(HeadsSettings(first=4, lowest=4), in_flight=range(1, 5))
    heads.scanned_first([found(9)])
    (want,) = heads.next_requests(10)
    heads.filled(A, read(1, 2, 3, 4), want.limit)

    assert (HeadRequest(A, 4, 8),) == heads.next_requests(10)


def test_what_was_recalled_before_it_is_read_is_a_head() -> None:
    """A row that left `work_queue` unclaimed is pending like any other."""
    in_flight = {3}
    heads = Heads(in_flight=in_flight)
    in_flight.clear()
    heads.missed([found(3)])
    (want,) = heads.next_requests(10)
    heads.filled(A, read(3, 9), want.limit)

    assert [3, 9] == offered(heads)


def test_what_is_recalled_after_it_was_passed_over_is_a_head() -> None:
    """No cursor moves back: the recall itself brings the row."""
    in_flight = {3}
    heads = Heads(in_flight=in_flight)
    heads.scanned_first([found(9)])
    (want,) = heads.next_requests(10)
    heads.filled(A, read(3, 9), want.limit)
    in_flight.clear()
    heads.missed([found(3)])

    assert [3, 9] == offered(heads)


def test_what_has_ended_is_forgotten_with_the_next_scan() -> None:
    """What a new leader found is remembered only while it is in flight."""
    in_flight = {3}
    heads = Heads(in_flight=in_flight)
    in_flight.clear()
    heads.record_scan()
    in_flight.add(3)
    heads.scanned_first([found(9)])
    (want,) = heads.next_requests(10)
    heads.filled(A, read(3, 9), want.limit)

    assert [3, 9] == offered(heads)
