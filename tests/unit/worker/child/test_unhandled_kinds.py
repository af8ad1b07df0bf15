"""Which kinds without a handler claims leave out, and for how long."""

from unittest.mock import Mock

import pytest

from fairlead_worker.attempts import outcome
from fairlead_worker.attempts.attempt import Attempt
from fairlead_worker.child import unhandled_kinds
from fairlead_worker.child.intake import NO_HANDLER
from fairlead_worker.child.unhandled_kinds import UnhandledKinds
from tests.support.attempts import claimed

_TOKEN = 11


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Mock:
    """Time, which only the test moves."""
    clock = Mock(return_value=1000.0)
    monkeypatch.setattr(unhandled_kinds, "monotonic", clock)
    return clock


def attempt(kind: str) -> Attempt:
    """Return an attempt that has ended for want of a handler."""
    made = Attempt(claimed(1, _TOKEN, kind=kind), NO_HANDLER, Mock(), 0)
    made.ending = outcome.unknown_kind(kind, ())
    return made


def test_a_kind_that_others_have_is_left_out_for_a_while(clock: Mock) -> None:
    """From its claim on, and again after the next one."""
    kinds, coming = UnhandledKinds(), attempt("coming")

    kinds.claimed([coming])
    assert ("coming",) == kinds.left_out()
    kinds.handed_back([coming], {_TOKEN: "queued"})
    assert ("coming",) == kinds.left_out()
    clock.return_value += 7
    assert ("coming",) == kinds.left_out()
    clock.return_value += 6
    assert () == kinds.left_out()


def test_a_kind_that_nobody_has_is_claimed_on() -> None:
    """Or the lane would get stuck behind what nobody takes out of the queue."""
    kinds, lost = UnhandledKinds(), attempt("lost")
    kinds.claimed([lost])

    kinds.handed_back([lost], {_TOKEN: "scheduled"})

    assert () == kinds.left_out()


def test_other_endings_leave_nothing_out() -> None:
    """A cancelled job of a kind without a handler says nothing about it."""
    kinds, cancelled = UnhandledKinds(), attempt("coming")
    cancelled.ending = outcome.unstarted("cancelled")

    kinds.claimed([cancelled])
    kinds.handed_back([cancelled], {})

    assert () == kinds.left_out()


def test_kinds_without_end_are_left_out_up_to_a_bound(clock: Mock) -> None:
    """Names may come from anywhere."""
    kinds = UnhandledKinds()

    kinds.claimed([attempt(f"kind {n}") for n in range(3000)])

    assert 1000 == len(kinds.left_out())
    clock.return_value += 13
    assert () == kinds.left_out()
