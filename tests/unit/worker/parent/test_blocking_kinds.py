"""A kind that blocks the loop leaves it for a while, and for longer if it does so again."""

from fairlead_worker.parent.blocking_kinds import ISOLATED_SECONDS, BlockingKinds


def test_a_kind_is_isolated_for_a_while_and_reported_once() -> None:
    """Jobs that have begun may go on to block the loop."""
    kinds = BlockingKinds()

    assert [ISOLATED_SECONDS, None] == [kinds.reported("sum", 0.0), kinds.reported("sum", 1.0)]
    assert ("sum",) == kinds.isolated(ISOLATED_SECONDS - 1)
    assert () == kinds.isolated(ISOLATED_SECONDS)


def test_one_that_always_blocks_is_tried_ever_more_rarely() -> None:
    """Each time it is away for twice as long."""
    kinds, now, times = BlockingKinds(), 0.0, list[float]()
    for _ in range(6):
        now += kinds.reported("sum", now) or 0.0
        times.append(now / ISOLATED_SECONDS)

    assert [1, 3, 7, 15, 31, 63] == times


def test_one_that_has_been_back_for_as_long_as_it_was_away_starts_again() -> None:
    """A first import and a slow answer an hour later are no habit."""
    kinds = BlockingKinds()
    kinds.reported("sum", 0.0)

    assert 2 * ISOLATED_SECONDS == kinds.reported("sum", 2 * ISOLATED_SECONDS - 1)
    back = 4 * ISOLATED_SECONDS - 1
    assert ISOLATED_SECONDS == kinds.reported("sum", back + 2 * ISOLATED_SECONDS)


def test_each_kind_has_a_term_of_its_own() -> None:
    """And all that are isolated are named, in order."""
    kinds = BlockingKinds()
    kinds.reported("sum", 0.0)
    kinds.reported("mail", 30.0)

    assert ("mail", "sum") == kinds.isolated(30.0)
    assert ("mail",) == kinds.isolated(ISOLATED_SECONDS)
