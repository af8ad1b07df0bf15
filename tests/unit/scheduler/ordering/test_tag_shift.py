"""Tags are raised past those of claimed rows, all by the same amount, and no row is lost."""

from fairlead_scheduler.ordering.levels.level import NEVER
from fairlead_scheduler.ordering.tag_shift import CLAIMED_ABOVE_MAX, TagShift
from tests.support.fair_bench import Bench
from tests.support.planned import Planned

_FAR = 1 << 50


def shift_after(*tags: int) -> TagShift:
    """Return a shift that knows of claimed rows with these tags."""
    shift = TagShift()
    shift.claimed_tags.extend(tags)
    return shift


def test_tags_are_raised_once_many_claimed_rows_are_above_the_floor() -> None:
    """Not for a row less, nor for those below, and not where as many rows wait."""
    tags = [*range(100, 100 + CLAIMED_ABOVE_MAX)]

    assert 0 == shift_after(*tags[1:]).due(100, 10)
    assert 0 == shift_after(*tags).due(101, 10)
    assert 0 == shift_after(*tags).due(100, CLAIMED_ABOVE_MAX)
    assert shift_after(*tags).due(100, 10) > tags[-1] - 100


def test_what_goes_in_front_of_the_floor_is_raised_past_the_claimed_rows_too() -> None:
    """New rows may be about as far below the floor as others were above it."""
    tags = [*range(100, 100 + CLAIMED_ABOVE_MAX)]

    by = shift_after(*tags).due(100, 10)

    assert 100 - (tags[-1] - 100) + by > tags[-1]


def test_tags_that_are_equal_are_raised() -> None:
    """A claim walks over the entries of all rows with the tag of the floor."""
    assert 1 == shift_after(*([7] * CLAIMED_ABOVE_MAX)).due(7, 10)


def test_a_row_far_ahead_does_not_make_tags_large() -> None:
    """It is one of few."""
    shift = shift_after(_FAR, *([7] * CLAIMED_ABOVE_MAX))

    assert 1 == shift.due(7, 10)


def test_what_is_remembered_is_bounded() -> None:
    """Claimed rows that never are enough, since too many wait, do not fill the memory."""
    shift, most = TagShift(), 0
    for _ in range(100):
        shift.claimed_tags.extend([7] * CLAIMED_ABOVE_MAX)
        shift.due(7, CLAIMED_ABOVE_MAX)
        most = max(most, len(shift.claimed_tags))

    assert most <= 32 * CLAIMED_ABOVE_MAX


def test_after_a_rise_rows_and_the_floor_are_written_with_more() -> None:
    """They keep their distances, and the ledger's own tags do not change."""
    bench, plain = (Bench() for _ in range(2))
    for each in (bench, plain):
        each.add("q/a", 100, 100)
        each.plan(1)
    virtual = bench.pool.orders[0].virtual_time
    bench.pool.orders[0].raised(5000, set(bench.order.in_flight))

    (row,), (unraised,) = bench.plan(1), plain.plan(1)

    assert unraised.vtag + 5000 == row.vtag
    assert plain.floor + 5000 == bench.floor
    assert virtual == bench.pool.orders[0].virtual_time


def test_a_row_that_was_not_raised_holds_the_floor_until_it_is_claimed() -> None:
    """It was locked, so it may be claimed, or wait with the tag that it has."""
    bench = Bench()
    bench.add("q/a", 100, 100, 100)
    first, second = ordered(bench.plan(2))
    order = bench.pool.orders[0]
    order.raised(5000, {second.id})

    assert first.vtag == bench.floor
    bench.order.claimed([first.id], bench.now_us)
    bench.plan(0)
    assert second.vtag + 5000 == bench.floor


def test_a_row_that_comes_back_after_a_rise_holds_the_floor_at_its_own_tag() -> None:
    """It was claimed when tags were raised, so its own in `work_queue` was not."""
    bench = Bench()
    bench.add("q/a", 100, 100, 100)
    first, second = ordered(bench.plan(2))
    bench.order.claimed([first.id], bench.now_us)
    bench.plan(0)
    bench.pool.orders[0].raised(5000, {second.id})
    assert second.vtag + 5000 == bench.floor

    bench.order.returned([first.id], bench.now_us)
    bench.plan(0)

    assert first.vtag == bench.floor < NEVER


def ordered(rows: tuple[Planned, ...]) -> list[Planned]:
    """Return them in the order of their tags."""
    return sorted(rows, key=lambda row: row.vtag)
