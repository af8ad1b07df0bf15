"""How far a pod's mark has been heeded follows from what is seen, not from what was."""

import pytest

from fairlead_worker.rest import UNMARKED, Mark, Phase, phase_of

MARKED = Mark(draining=True)
SAID = Mark(draining=True, drained=True)


@pytest.mark.parametrize(
    ("mark", "empty", "expected"),
    [
        (UNMARKED, False, Phase.WORKING),
        (UNMARKED, True, Phase.WORKING),
        (MARKED, False, Phase.EMPTYING),
        (MARKED, True, Phase.EMPTY),
        (SAID, True, Phase.DRAINED),
    ],
)
def test_each_phase_follows_from_the_mark_and_from_what_is_left(
    mark: Mark,
    empty: bool,  # noqa: FBT001 - a column of the table
    expected: Phase,
) -> None:
    """Claim no more, finish what runs, and then have it written that nothing is left."""
    assert expected == phase_of(mark, empty=empty)


def test_a_worker_with_something_left_is_never_drained() -> None:
    """Whatever the database says: a container that restarted may have found out otherwise."""
    assert Phase.EMPTYING == phase_of(SAID, empty=False)


def test_a_word_that_the_database_has_forgotten_is_given_again() -> None:
    """A mark that lapsed unseen and came back is a new one, under which nobody has said it."""
    assert (Phase.DRAINED, Phase.EMPTY) == (
        phase_of(SAID, empty=True),
        phase_of(MARKED, empty=True),
    )
