"""A child that died is charged with what it may have claimed, and only with that."""

from unittest.mock import Mock

import pytest

from fairlead_worker.ipc.attempt_table import AttemptEntry, UnstoredSuccess
from fairlead_worker.ipc.interruptions import Cause, Died
from fairlead_worker.parent.crash_review import CrashReview
from fairlead_worker.parent.reaper import Reaper
from tests.unit.worker.parent.test_quarantine import FakeChild

EXITED = 9


class DeadChild(FakeChild):
    """One that has exited, with nothing started."""

    def __init__(self) -> None:
        super().__init__()
        self.pause_number = None

    def reap(self) -> int | None:
        """Return how it has exited."""
        return EXITED

    def unstored(self) -> tuple[tuple[AttemptEntry, ...], tuple[UnstoredSuccess, ...]]:
        """Return nothing."""
        return (), ()

    def cause_of_end(self) -> Cause:
        """Return that it has died by itself."""
        return Died(EXITED)

    def kill_if_due(self, now: float) -> None:
        """Do nothing: it is dead."""

    def close(self) -> None:
        """Do nothing: it has no socket."""


def bound_after_death(child: FakeChild) -> int | None:
    """Return how many jobs a child may hold unstarted after this one's death."""
    children = Mock(all=(child,))
    children.quarantine.children = ()
    children.quarantine.take_surplus.return_value = ()
    review = CrashReview(Mock(), children, hand_backs=Mock(), metrics_page=Mock())
    reaper = Reaper(
        children,
        Mock(),
        hand_backs=Mock(),
        metrics_page=Mock(child_deaths=0),
        orphan_claims=Mock(),
        connection_check=Mock(),
        crash_review=review,
    )

    reaper.reap(1.0)
    review.advance(1.0)

    bound = children.claiming.bound_claims.call_args.args[0]
    assert bound is None or isinstance(bound, int)
    return bound


@pytest.mark.parametrize(
    ("state", "bound"),
    [
        ({"ready": False}, None),
        ({"ready": True}, None),
        ({"ready": True, "claiming": True, "idle": True}, None),
        ({"ready": True, "claiming": True}, 256),
        ({"ready": True, "pause_number": 1}, 256),
    ],
    ids=["starting", "ready", "idle", "claiming", "pausing"],
)
def test_claims_are_made_smaller_by_the_death_of_what_may_have_claimed(
    state: dict[str, object], bound: int | None
) -> None:
    """One that dies as it starts, or that holds nothing, says nothing of claims."""
    child = DeadChild()
    for name, value in state.items():
        setattr(child, name, value)

    assert bound == bound_after_death(child)
