"""A death with nothing started is charged to what the dead child had claimed alone."""

from unittest.mock import Mock

import pytest

from fairlead_worker.ipc.interruptions import Death, Died, Interruption, Stuck
from fairlead_worker.parent.crash_review import CrashReview, DeathOfChild

KILLED = Died(-9)
ALONE = ((1, 101),)


class Scenario:
    """The review of a worker's deaths, and the bounds that its children were sent."""

    def __init__(self) -> None:
        self.children = Mock()
        self.children.quarantine.take_surplus.return_value = ()
        self.review = CrashReview(
            Mock(), self.children, hand_backs=Mock(), metrics_page=Mock(breaker_openings=0)
        )

    def died(self, cause: Death, *, idle: bool = False) -> None:
        """Note the death of a child in which nothing had started."""
        self.review.child_died(DeathOfChild((), (), cause), idle=idle)

    def unheld(self) -> list[str]:
        """Return how a single attempt ends that no child holds."""
        return [each.ended_as for each in self.review.unheld(ALONE)]

    def bound(self) -> int | None:
        """Return how many jobs a child may hold unstarted now."""
        self.review.advance(1.0)
        bound = self.children.claiming.bound_claims.call_args.args[0]
        assert bound is None or isinstance(bound, int)
        return bound


@pytest.fixture
def scenario() -> Scenario:
    """Return one without deaths."""
    return Scenario()


def test_what_a_dead_child_had_claimed_alone_has_crashed(scenario: Scenario) -> None:
    """Once: the next one is another child's."""
    scenario.died(KILLED)

    assert scenario.bound() == 256
    assert ["crashed"] == scenario.unheld()
    assert ["returned"] == scenario.unheld()


@pytest.mark.parametrize(
    ("cause", "idle"),
    [(KILLED, True), (Died(-9, cut_off=True), False), (Stuck(5.0), False)],
    ids=["idle", "cut off", "stuck"],
)
def test_a_death_of_another_cause_is_charged_to_no_claim(
    scenario: Scenario, cause: Death, *, idle: bool
) -> None:
    """Whatever is leased to the worker meanwhile and held by no child."""
    scenario.died(cause, idle=idle)

    assert ["returned"] == scenario.unheld()
    assert scenario.bound() is None


@pytest.mark.parametrize("lost_first", [True, False])
def test_a_job_of_which_the_answer_was_lost_is_charged_with_no_death(
    scenario: Scenario, *, lost_first: bool
) -> None:
    """It may be the job of a child that lives; the next claims are smaller all the same."""
    if lost_first:
        scenario.review.claim_answer_lost()
    scenario.died(KILLED)
    if not lost_first:
        scenario.review.claim_answer_lost()

    assert (Interruption(1, 101, "returned"),) == scenario.review.unheld(ALONE)
    assert scenario.bound() == 256


def test_an_answer_that_was_lost_long_ago_excuses_nothing(scenario: Scenario) -> None:
    """The checks after it have found what it left."""
    scenario.review.claim_answer_lost()
    scenario.review.advance(60.0)
    scenario.died(KILLED)

    assert ["crashed"] == scenario.unheld()
