"""What the controller counts of decisions that only say how many there were so far."""

from dataclasses import replace

import pytest

from fairlead_autoscaler.decision.decide import decide
from fairlead_autoscaler.decision.result import Decision, State
from fairlead_autoscaler.metrics.registry import Metrics
from tests.support import autoscaling as looks


def after(wrong: int) -> Decision:
    """Return a decision of a term in which so many pods went in the place of others."""
    decision = decide(State(), looks.look(1, looks.demand(work=10)), looks.pool())
    drains = replace(decision.state.drains, wrong_victims=wrong)
    return replace(decision, state=replace(decision.state, drains=drains))


def test_wrong_victims_are_counted_on_from_term_to_term() -> None:
    """A term begins at none, and what was counted in another one stays."""
    metrics = Metrics()
    seen: list[float | None] = []
    for wrong in (0, 1, 1, 3, None, 1, 2):
        if wrong is None:
            metrics.end()
            continue
        decision = after(wrong)
        metrics.pools.show(
            "default", decision, looks.look(1, looks.demand(work=10)), looks.pool()
        )
        name = "fairlead_autoscaler_wrong_victims_total"
        seen.append(metrics.registry.get_sample_value(name, {"pool": "default"}))

    assert [0, 1, 1, 3, 4, 5] == seen


def test_refused_writes_are_counted_from_zero_and_on_from_term_to_term() -> None:
    """A counter that begins with its first refusal shows no rise."""
    metrics = Metrics()
    seen: list[float | None] = []
    for refused in (False, True, False):
        if refused:
            metrics.actions.conflicts.labels("default").inc()
            metrics.end()
        look = looks.look(1, looks.demand(work=10))
        metrics.pools.show("default", after(0), look, looks.pool())
        name = "fairlead_autoscaler_conflicts_total"
        seen.append(metrics.registry.get_sample_value(name, {"pool": "default"}))

    assert [0, 1, 1] == seen


@pytest.mark.parametrize(
    ("name", "labels"),
    [
        ("autoscaler_action_replicas_total", {"direction": "up"}),
        ("autoscaler_action_replicas_total", {"direction": "down"}),
        ("autoscaler_victims_total", {"state": "idle"}),
        ("autoscaler_victims_total", {"state": "busy"}),
        ("pod_start_seconds_count", {}),
    ],
)
def test_what_is_done_to_a_pool_is_counted_from_zero(name: str, labels: dict[str, str]) -> None:
    """So that the first pod of a pool at zero is a rise."""
    metrics = Metrics()
    look = looks.look(1, looks.demand(work=10))

    metrics.pools.show("default", after(0), look, looks.pool())

    of_pool = {"pool": "default", **labels}
    assert 0 == metrics.registry.get_sample_value(f"fairlead_{name}", of_pool)


def test_a_controller_that_does_not_lead_says_nothing_of_the_policy() -> None:
    """Nor before the first document: a zero would say that the newest one is a bad one."""
    metrics = Metrics()
    name = "fairlead_config_last_reload_successful"
    before = metrics.registry.get_sample_value(name)
    metrics.policy.show_synced(good=False)
    while_leading = metrics.registry.get_sample_value(name)
    metrics.end()

    assert (None, 0.0, None) == (before, while_leading, metrics.registry.get_sample_value(name))
