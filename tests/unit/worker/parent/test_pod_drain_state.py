"""The phase of a drain follows from the present state alone."""

import pytest

from fairlead_worker.parent.pod_drain_state import UNMARKED, DrainMark, DrainPhase, phase_of

MARKED = DrainMark(draining=True)
STORED = DrainMark(draining=True, drained=True)


@pytest.mark.parametrize(
    ("mark", "empty", "expected"),
    [
        (UNMARKED, False, DrainPhase.WORKING),
        (UNMARKED, True, DrainPhase.WORKING),
        (MARKED, False, DrainPhase.EMPTYING),
        (MARKED, True, DrainPhase.EMPTY),
        (STORED, True, DrainPhase.DRAINED),
    ],
)
def test_each_phase_follows_from_the_mark_and_from_what_is_left(
    mark: DrainMark,
    empty: bool,  # noqa: FBT001 - a column of the table
    expected: DrainPhase,
) -> None:
    """Claim no more, finish what runs, and then have it written that nothing is left."""
    assert expected == phase_of(mark, empty=empty)


def test_a_worker_with_something_left_is_never_drained() -> None:
    """Whatever the database says: a container that restarted may know better."""
    assert DrainPhase.EMPTYING == phase_of(STORED, empty=False)


def test_a_word_that_the_database_has_forgotten_is_given_again() -> None:
    """A mark that lapsed unseen and came back is a new one, under which nothing is stored."""
    assert (DrainPhase.DRAINED, DrainPhase.EMPTY) == (
        phase_of(STORED, empty=True),
        phase_of(MARKED, empty=True),
    )
