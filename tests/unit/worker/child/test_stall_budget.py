"""A kind that blocks the loop is logged once a minute, and may keep it for a quarter second."""

from fairlead_worker.child.stall_budget import (
    BUDGET_SECONDS,
    STALL_SECONDS,
    WINDOW_SECONDS,
    StallBudget,
)


def test_one_long_stall_spends_the_budget() -> None:
    """While it lasts: the next job of the kind must not begin."""
    budget = StallBudget()

    assert not budget.is_spent("sum", BUDGET_SECONDS - 0.01, 0.0)
    assert budget.is_spent("sum", BUDGET_SECONDS, 0.01)


def test_short_stalls_add_up() -> None:
    """Those that are over, and the one that lasts."""
    budget = StallBudget()
    spent: list[bool] = []
    for n in range(3):
        spent.append(budget.is_spent("sum", STALL_SECONDS, float(n)))
        budget.stalled("sum", STALL_SECONDS, float(n))

    assert [False, False, True] == spent


def test_what_is_shorter_than_a_stall_spends_nothing() -> None:
    """However much the kind has stalled before."""
    budget = StallBudget()
    budget.stalled("sum", 10.0, 0.0)

    assert not budget.is_spent("sum", STALL_SECONDS / 2, 1.0)


def test_stalls_that_are_long_ago_do_not_count() -> None:
    """One now and then is bad luck, and is logged each time."""
    budget = StallBudget()
    spent: list[bool] = []
    logged: list[bool] = []
    for n in range(5):
        at = n * WINDOW_SECONDS
        spent.append(budget.is_spent("sum", 0.2, at))
        logged.append(budget.stalled("sum", 0.2, at))

    assert {False} == {*spent}
    assert {True} == {*logged}


def test_a_kind_is_logged_once_a_minute() -> None:
    """Each further stall says the same again."""
    budget = StallBudget()

    logged = [budget.stalled("sum", 0.2, n * WINDOW_SECONDS / 4) for n in range(8)]

    assert [True, False, False, False] * 2 == logged


def test_each_kind_has_its_own_budget() -> None:
    """One kind is not moved for what another one does."""
    budget = StallBudget()
    for n in range(10):
        assert not budget.is_spent(str(n), 0.2, 0.0)
        assert budget.stalled(str(n), 0.2, 0.0)
