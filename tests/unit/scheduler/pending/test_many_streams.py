"""A tenant's streams without end are bounded, delay no others, and no job of theirs is lost."""

from fairlead_scheduler.pending.values import HeadsSettings, PendingJob
from tests.unit.scheduler.pending.test_heads import offered, read, scanned


def in_queue(number: int, *, seq: int = 0, tenant: str = "flood") -> PendingJob:
    """Return a job in a queue of its own."""
    return PendingJob(seq or number, seq or number, f"q{number}", tenant, 0, None, None)


def test_a_tenant_has_so_many_streams_and_takes_no_room_of_others() -> None:
    """Names without end would otherwise fill the leader's memory."""
    heads = scanned(HeadsSettings(tenant_streams_max=3))

    heads.discovered([in_queue(number) for number in range(1, 10)])
    heads.discovered([in_queue(10, tenant="quiet")])

    assert 4 == heads.streams
    assert {"flood"} == heads.crowded
    assert [1, 2, 3, 10] == offered(heads)


def test_what_was_left_out_is_found_when_there_is_room() -> None:
    """No job is lost: a scan finds its stream, and a read what the stream has had all along."""
    heads = scanned(HeadsSettings(tenant_streams_max=3))
    heads.discovered([in_queue(number) for number in range(1, 6)])
    assert [1, 2, 3] == offered(heads)

    heads.record_scan()
    heads.discovered([in_queue(5, seq=50)])
    assert [] == offered(heads)
    heads.scanned_first([in_queue(4), in_queue(5)])
    for want in heads.next_requests(10):
        number = int(want.stream[0][1:])
        rows = [number, 50] if number == 5 else [number]
        heads.filled(want.stream, read(*rows), want.limit)

    assert {4, 5, 50} == set(offered(heads))


def test_a_tenant_is_crowded_until_a_scan_left_nothing_out() -> None:
    """Before that an unknown stream of its may have jobs that no read has found."""
    heads = scanned(HeadsSettings(tenant_streams_max=3))
    heads.discovered([in_queue(number) for number in range(1, 6)])
    heads.record_scan()
    assert {"flood"} == heads.crowded

    heads.record_scan()

    assert frozenset() == heads.crowded


def test_drained_streams_make_room_before_the_next_scan() -> None:
    """A tenant whose short queues come and go never waits for a scan."""
    heads = scanned(HeadsSettings(tenant_streams_max=3))
    for number in range(1, 3000):
        heads.discovered([in_queue(number)])
        if not number % 3:
            offered(heads)
            for _ in range(100):
                heads.next_requests(10)

    assert frozenset() == heads.crowded


def test_a_tenants_many_new_lanes_delay_no_other_tenants() -> None:
    """A plan has time for some of them, and whoever comes last has the next turn."""
    heads = scanned()
    heads.discovered([in_queue(number) for number in range(1, 5000)])
    assert 9999 not in offered(heads)
    heads.discovered([in_queue(9999, tenant="quiet")])

    assert 9999 in offered(heads)
    assert heads.is_behind
    rest = [job for _ in range(50) for job in offered(heads)]
    assert 4999 == max(rest)
    assert not heads.is_behind
