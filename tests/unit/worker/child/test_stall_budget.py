"""A kind that blocks the loop is logged once a minute, and isolated from the third time on."""

from fairlead_worker.child.stall_budget import (
    STALLS_MAX,
    WINDOW_SECONDS,
    StallBudget,
    StallDecision,
)


def test_it_is_isolated_at_the_last_of_its_stalls_and_logged_at_the_first() -> None:
    """Each further stall says the same again: what was claimed before still runs."""
    budget = StallBudget()
    decisions = [budget.stalled("sum", float(n)) for n in range(STALLS_MAX + 1)]

    few = [StallDecision(log=n == 0, isolate=False) for n in range(STALLS_MAX - 1)]
    assert [*few, *[StallDecision(log=False, isolate=True)] * 2] == decisions


def test_stalls_that_are_long_ago_do_not_count() -> None:
    """One now and then is bad luck, and is logged each time."""
    budget = StallBudget()
    times = [n * WINDOW_SECONDS / (STALLS_MAX - 1) for n in range(10)]

    decisions = [budget.stalled("sum", at) for at in times]

    assert {False} == {each.isolate for each in decisions}
    assert 5 == sum(each.log for each in decisions)


def test_each_kind_has_its_own_budget() -> None:
    """One kind is not moved for what another one does."""
    budget = StallBudget()

    assert {StallDecision(log=True, isolate=False)} == {
        budget.stalled(str(n), 0.0) for n in range(10)
    }
